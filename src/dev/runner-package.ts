/**
 * The runner's package, which a deployment serves at /auspex-runner.tgz: one bundled script, so that
 * a machine needs only Node, and the example models. The same sources give the same bytes, and the
 * version ends with their hash. On its own: node src/dev/runner-package.ts FOLDER
 */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import { z } from "zod";
import { type Files, tarball } from "../../runner/src/lib/tarball.ts";
import type { Manifest } from "../protocol/assets.ts";
import { ROOT } from "./bundle.ts";
import { EXAMPLES, exampleFiles, exampleNames } from "./examples.ts";
import { packagesIn, sbomText } from "./sbom.ts";

const RUNNER = join(ROOT, "runner");
const HASH_DIGITS = 8;

/** The fields of runner/package.json that the package keeps: everything is bundled, so no dependencies. */
const manifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  type: z.literal("module"),
  engines: z.object({ node: z.string() }),
  bin: z.record(z.string(), z.string()),
});
type PackageManifest = z.infer<typeof manifest>;

/** Writes the package into the folder. */
export async function packRunner(folder: string): Promise<Manifest["runner"]> {
  const source = manifest.parse(JSON.parse(await readFile(join(RUNNER, "package.json"), "utf8")));
  const files = [...(await bundleFiles(source)), ...(await copiedFiles())];
  const hashes = files.map(([path, content]) => [path, sha256(content)]);
  const hash = sha256(JSON.stringify([source, hashes]));
  const version = `${source.version}+${hash.slice(0, HASH_DIGITS)}`;
  const own = JSON.stringify({ ...source, version }, null, 2);
  const bytes = await tarball("package", [["package.json", own], ...files]);
  await writeFile(join(folder, "auspex-runner.tgz"), bytes);
  return { version, bytes: bytes.length, sha256: sha256(bytes) };
}

const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");

async function bundleFiles(source: PackageManifest): Promise<Files> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(RUNNER, "src/main.ts")],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    target: "node22",
    legalComments: "none",
    logLevel: "warning",
    plugins: [boundaries],
    // Some dependencies are CommonJS and require Node's modules.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module";\nconst require = requireFrom(import.meta.url);',
    },
  });
  return [
    ["dist/main.js", outputFiles.map(({ text }) => text).join("")],
    ["THIRD-PARTY.txt", await licences(metafile)],
    ["sbom.cdx.json", sbomText(source, await packagesIn(metafile))],
  ];
}

/** dockerode's support for SSH and BuildKit, with native code: the runner uses neither. */
const LEFT_OUT = /^(ssh2|protobufjs|@grpc\/grpc-js|@grpc\/proto-loader)$/;

const boundaries: Plugin = {
  name: "boundaries",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: LEFT_OUT }, ({ path }) => ({ path, namespace: "left-out" }));
    onLoad({ filter: /./, namespace: "left-out" }, () => ({ contents: "" }));
    // The package's own manifest, for its version (runner/src/version.ts).
    onResolve({ filter: /^\.\.\/package\.json$/ }, ({ path }) => ({ path, external: true }));
  },
};

/** The licence texts of everything bundled, as those licences require. */
async function licences(metafile: Metafile): Promise<string> {
  const texts = (await packagesIn(metafile)).map(async ({ folder, name, version, license }) => {
    const names = (await readdir(folder)).filter((name) => /^licen[cs]e/i.test(name));
    const text = names[0] === undefined ? "" : await readFile(join(folder, names[0]), "utf8");
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(72)}\n\n`);
}

async function copiedFiles(): Promise<Files> {
  const sources: [path: string, source: string][] = [
    ["README.md", join(RUNNER, "README.md")],
    ["LICENSE", join(ROOT, "LICENSE")],
    ["systemd/auspex-runner.service", join(RUNNER, "systemd/auspex-runner.service")],
    ["examples/README.md", join(EXAMPLES, "README.md")],
  ];
  for (const name of await exampleNames())
    for (const [path, source] of await exampleFiles(name))
      sources.push([`examples/${name}/${path}`, source]);
  return Promise.all(sources.map(async ([path, source]) => [path, await readFile(source)]));
}

if (import.meta.main) await packRunner(process.argv[2] ?? ".");
