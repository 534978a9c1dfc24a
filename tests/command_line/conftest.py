def pytest_addoption(parser):
    parser.addoption("--build", default="build/release", help="where bin/trtexec is")
