/**
 * The packages for npm that a deployment serves: of the runner, of the command `auspex`, and for receivers of
 * webhooks. Those of programs have one bundled script, so that a machine needs only Node, and the files that
 * lie beside it. The same sources give the same bytes, and the version ends with their hash.
 * On its own, this writes the runner's package: node src/dev/packages.ts FOLDER
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { createGzip } from "node:zlib";
import { build, type Format, type Metafile, type Plugin, transform } from "esbuild";
import { pack } from "tar-stream";
import { z } from "zod";
import type { PackageSummary } from "../protocol/assets.ts";
import { ROOT } from "./bundle.ts";
import { EXAMPLES, exampleFiles, exampleNames } from "./examples.ts";
import { packagesIn, sbomText } from "./sbom.ts";

const HASH_DIGITS = 8;

/** The fields of package.json that the package keeps: everything is bundled, so no dependencies. */
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

interface NodePackage {
  /** Folder of the workspace, with package.json. */
  folder: string;
  /** The module that is run, in the folder. */
  entry: string;
  files: [path: string, source: string][];
  plugins?: Plugin[];
}

async function packPackage(
  { folder, entry, files: sources, plugins = [] }: NodePackage,
  file: string,
): Promise<PackageSummary> {
  const source = manifest.parse(JSON.parse(await readFile(join(folder, "package.json"), "utf8")));
  const files = [
    ...(await bundleFiles(source, join(folder, entry), plugins)),
    ...(await Promise.all(
      sources.map(async ([path, from]): Promise<Files[number]> => [path, await readFile(from)]),
    )),
  ];
  const hashes = files.map(([path, content]) => [path, sha256(content)]);
  const hash = sha256(JSON.stringify([source, hashes]));
  const version = `${source.version}+${hash.slice(0, HASH_DIGITS)}`;
  const own = JSON.stringify({ ...source, version }, null, 2);
  const bytes = await tarball("package", [["package.json", own], ...files]);
  await writeFile(file, bytes);
  return { version, bytes: bytes.length, sha256: sha256(bytes) };
}

const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");

async function bundleFiles(
  source: PackageManifest,
  entry: string,
  plugins: Plugin[],
): Promise<Files> {
  const [script = ""] = Object.values(source.bin);
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    target: "node22",
    legalComments: "none",
    logLevel: "warning",
    plugins: [ownManifest(script), ...plugins],
    // Some dependencies are CommonJS and require Node's modules.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module";\nconst require = requireFrom(import.meta.url);',
    },
  });
  return [
    [script, outputFiles.map(({ text }) => text).join("")],
    ["THIRD-PARTY.txt", await licences(metafile)],
    ["sbom.cdx.json", sbomText(source, await packagesIn(metafile))],
  ];
}

/** Lets each package read its own manifest, for its version, wherever the module that imports it lies. */
const ownManifest = (script: string): Plugin => ({
  name: "own-manifest",
  setup({ onResolve }) {
    const toManifest = relative(dirname(script), "package.json");
    const path = toManifest.startsWith(".") ? toManifest : `./${toManifest}`;
    onResolve({ filter: /^(\.\.?\/)+package\.json$/ }, () => ({ path, external: true }));
  },
});

/** The licence texts of everything bundled, as those licences require. */
async function licences(metafile: Metafile): Promise<string> {
  const texts = (await packagesIn(metafile)).map(async ({ folder, name, version, license }) => {
    const names = (await readdir(folder)).filter((name) => /^licen[cs]e/i.test(name));
    const text = names[0] === undefined ? "" : await readFile(join(folder, names[0]), "utf8");
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(72)}\n\n`);
}

const CLI = join(ROOT, "src/cli");

/** Writes the package of the command, which is served at /auspex.tgz. */
export async function packCli(folder: string): Promise<PackageSummary> {
  const files: [path: string, source: string][] = [
    ["README.md", join(CLI, "README.md")],
    ["LICENSE", join(ROOT, "LICENSE")],
  ];
  const templates = join(CLI, "templates");
  for (const entry of await readdir(templates, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const source = join(entry.parentPath, entry.name);
    files.push([source.slice(CLI.length + 1), source]);
  }
  files.sort(([a], [b]) => (a < b ? -1 : 1));
  return packPackage({ folder: CLI, entry: "main.ts", files }, join(folder, "auspex.tgz"));
}

const RUNNER = join(ROOT, "runner");

/** Writes the runner's package with the example models, which is served at /auspex-runner.tgz. */
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

const RECEIVER = join(ROOT, "src/receiver");

/** Writes the package that is served at /auspex-webhooks.tgz: one module, as ESM and CommonJS, and its types. */
export async function packReceiver(folder: string): Promise<void> {
  const source = await read("index.ts");
  const [module, common, types, manifest, readme, license] = await Promise.all([
    scriptOf(source, "esm"),
    scriptOf(source, "cjs"),
    declarations(),
    read("package.json"),
    read("README.md"),
    readFile(join(ROOT, "LICENSE"), "utf8"),
  ]);
  const bytes = await tarball("package", [
    ["package.json", manifest],
    ["README.md", readme],
    ["LICENSE", license],
    ["dist/index.js", module],
    ["dist/index.cjs", common],
    ["dist/index.d.ts", types],
    ["dist/index.d.cts", types],
  ]);
  await writeFile(join(folder, "auspex-webhooks.tgz"), bytes);
}

const read = (name: string) => readFile(join(RECEIVER, name), "utf8");

const scriptOf = async (source: string, format: Format) =>
  (await transform(source, { loader: "ts", format, target: "es2022" })).code;

async function declarations(): Promise<string> {
  const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
  const folder = await mkdtemp(join(tmpdir(), "auspex-types-"));
  try {
    const compile = [join(dirname(typescript), "bin/tsc"), "--project", RECEIVER];
    const emit = ["--noEmit", "false", "--incremental", "false", "--tsBuildInfoFile", "null"];
    await promisify(execFile)(process.execPath, [...compile, ...emit, "--outDir", folder]);
    return await readFile(join(folder, "index.d.ts"), "utf8");
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.main) await packRunner(process.argv[2] ?? ".");

type Files = [path: string, content: string | Buffer][];

/** The date npm gives to everything it packs. */
const MTIME = new Date("1985-10-26T08:15:00Z");

/**
 * Writes a tarball whose bytes depend only on its files.
 * @param folder the folder in the tarball that contains the files
 */
export function tarball(folder: string, files: Files): Promise<Buffer> {
  const archive = pack();
  for (const [path, content] of files)
    archive.entry({ name: `${folder}/${path}`, mode: 0o644, mtime: MTIME }, content);
  archive.finalize();
  return buffer(archive.pipe(createGzip({ level: 9 })));
}
