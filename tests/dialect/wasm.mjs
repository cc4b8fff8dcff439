// Starts the Python of the `pyodide` package and runs wasm.py in it.
// Arguments: the repository, a folder of pure Python packages.
import { loadPyodide } from "pyodide";

const [house, packages] = process.argv.slice(2);
const python = await loadPyodide({ env: { PYTEST_DISABLE_PLUGIN_AUTOLOAD: "1" } });
for (const [at, folder] of [["/house", house], ["/packages", packages]]) {
  python.FS.mkdirTree(at);
  python.mountNodeFS(at, folder);
}
console.log(python.runPython(`
import sys
sys.path[:0] = ["/house", "/house/bridge"]
sys.path.append("/packages")
from tests.dialect.wasm import main
main()
`));
process.exit(0);
