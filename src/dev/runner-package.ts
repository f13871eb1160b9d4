/**
 * The runner's package, which a deployment serves at /auspex-runner.tgz, with the example models.
 * On its own: node src/dev/runner-package.ts FOLDER
 */
import { join } from "node:path";
import type { Plugin } from "esbuild";
import type { PackageSummary } from "../protocol/assets.ts";
import { ROOT } from "./bundle.ts";
import { EXAMPLES, exampleFiles, exampleNames } from "./examples.ts";
import { packPackage } from "./node-package.ts";

const RUNNER = join(ROOT, "runner");

/** Writes the package into the folder. */
export async function packRunner(folder: string): Promise<PackageSummary> {
  const files: [path: string, source: string][] = [
    ["README.md", join(RUNNER, "README.md")],
    ["LICENSE", join(ROOT, "LICENSE")],
    ["systemd/auspex-runner.service", join(RUNNER, "systemd/auspex-runner.service")],
    ["examples/README.md", join(EXAMPLES, "README.md")],
  ];
  for (const name of await exampleNames())
    for (const [path, source] of await exampleFiles(name))
      files.push([`examples/${name}/${path}`, source]);
  const contents = { folder: RUNNER, entry: "src/main.ts", files, plugins: [leftOut] };
  return packPackage(contents, join(folder, "auspex-runner.tgz"));
}

/** dockerode's support for SSH and BuildKit, with native code: the runner uses neither. */
const LEFT_OUT = /^(ssh2|protobufjs|@grpc\/grpc-js|@grpc\/proto-loader)$/;

const leftOut: Plugin = {
  name: "left-out",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: LEFT_OUT }, ({ path }) => ({ path, namespace: "left-out" }));
    onLoad({ filter: /./, namespace: "left-out" }, () => ({ contents: "" }));
  },
};

if (import.meta.main) await packRunner(process.argv[2] ?? ".");
