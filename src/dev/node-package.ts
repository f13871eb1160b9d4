/**
 * A package for npm that a deployment serves: one bundled script, so that a machine needs only Node,
 * and the files that lie beside it. The same sources give the same bytes, and the version ends with
 * their hash.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import { z } from "zod";
import { type Files, tarball } from "../../runner/src/lib/tarball.ts";
import type { PackageSummary } from "../protocol/assets.ts";
import { ROOT } from "./bundle.ts";
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

export interface NodePackage {
  /** Folder of the workspace, with package.json. */
  folder: string;
  /** The module that is run, in the folder. */
  entry: string;
  /** Paths in the package, each with its source. */
  files: [path: string, source: string][];
  plugins?: Plugin[];
}

/** Writes the package. */
export async function packPackage(
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
