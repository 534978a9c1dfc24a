"""A report in headless Chromium: Debian's chromium and chromium-driver, driven by Selenium. For the browser test and for
the pictures in docs/."""
import shutil
from pathlib import Path

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WIDE, NARROW = (1280, 860), (390, 844)


def missing() -> str:
    """What lacks for a browser, or nothing."""
    if not BROWSER or not DRIVER:
        return "chromium and chromium-driver are not installed"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "PyPI's selenium is not installed"
    return ""


class Page:
    """One tab of one size and color scheme."""

    def __init__(self, size: tuple[int, int] = WIDE, dark: bool = False):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        # Containers run tests as root, and have a small /dev/shm.
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         "--disable-background-networking", "--no-first-run"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        width, height = size
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.command("Network.enable")
        # A report must do without.
        self.command("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def command(self, name: str, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def open(self, file: Path, view: str = ""):
        self.driver.get("about:blank")  # Else another view of the same file is no new page.
        self.driver.get(f"file://{file}#{view}")

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str):
        return self.driver.find_element("css selector", selector)

    def tab(self, name: str):
        self.one(f"#tab-{name}").click()

    def texts(self, selector: str) -> list[str]:
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def errors(self) -> list[str]:
        """What the console has since the last question."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def picture(self, file: Path):
        self.driver.save_screenshot(str(file))
