def pytest_addoption(parser):
    parser.addoption("--build", default="build/release", help="where bin/tenon is")
    parser.addoption("--models", default="build/models", help="where models with weights are kept")
    parser.addoption("--folder", help="of ONNX models: the plan level of these, in place of those of models/")
