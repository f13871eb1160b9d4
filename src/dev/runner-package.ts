/**
 * The runner's package, which a deployment serves at /auspex-runner.tgz: one script with all that
 * it imports inside, so that a machine needs Node and nothing else. The same sources make the same
 * bytes, and its version ends with their hash. On its own: node src/dev/runner-package.ts FOLDER
 */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import { z } from "zod";
import type { Manifest } from "../protocol/assets.ts";
import { ROOT } from "./bundle.ts";
import { packagesIn, sbomText } from "./sbom.ts";
import { type Files, tarball } from "./tarball.ts";

const RUNNER = join(ROOT, "runner");
const HASH_DIGITS = 8;

/** What of runner/package.json is said of the package: it has no dependencies. */
const manifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  type: z.literal("module"),
  engines: z.object({ node: z.string() }),
  bin: z.record(z.string(), z.string()),
});
type Said = z.infer<typeof manifest>;

/** Writes the package into the folder. */
export async function packRunner(folder: string): Promise<Manifest["runner"]> {
  const said = manifest.parse(JSON.parse(await readFile(join(RUNNER, "package.json"), "utf8")));
  const files = [...(await bundled(said)), ...(await copied())];
  const hash = sha256(JSON.stringify([said, files]));
  const version = `${said.version}+${hash.slice(0, HASH_DIGITS)}`;
  const own = JSON.stringify({ ...said, version }, null, 2);
  const bytes = tarball("package", [["package.json", own], ...files]);
  await writeFile(join(folder, "auspex-runner.tgz"), bytes);
  return { version, bytes: bytes.length, sha256: sha256(bytes) };
}

const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");

async function bundled(said: Said): Promise<Files> {
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
    // Some dependencies are CommonJS, and require what Node has.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module";\nconst require = requireFrom(import.meta.url);',
    },
  });
  return [
    ["dist/main.js", outputFiles.map(({ text }) => text).join("")],
    ["THIRD-PARTY.txt", await licences(metafile)],
    ["sbom.cdx.json", sbomText(said, await packagesIn(metafile))],
  ];
}

/**
 * What dockerode has for Docker over SSH and for BuildKit, native code among it: the runner speaks
 * to a socket, and builds nothing.
 */
const LEFT_OUT = /^(ssh2|protobufjs|@grpc\/grpc-js|@grpc\/proto-loader)$/;

const boundaries: Plugin = {
  name: "boundaries",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: LEFT_OUT }, ({ path }) => ({ path, namespace: "left-out" }));
    onLoad({ filter: /./, namespace: "left-out" }, () => ({ contents: "" }));
    // The package's own, which has its version (runner/src/version.ts).
    onResolve({ filter: /^\.\.\/package\.json$/ }, ({ path }) => ({ path, external: true }));
  },
};

/** The licences of what is bundled ask for it: their texts go along. */
async function licences(metafile: Metafile): Promise<string> {
  const texts = (await packagesIn(metafile)).map(async ({ folder, name, version, license }) => {
    const names = (await readdir(folder)).filter((name) => /^licen[cs]e/i.test(name));
    const text = names[0] === undefined ? "" : await readFile(join(folder, names[0]), "utf8");
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(72)}\n\n`);
}

async function copied(): Promise<Files> {
  const sources: [path: string, source: string][] = [
    ["README.md", join(RUNNER, "README.md")],
    ["LICENSE", join(ROOT, "LICENSE")],
    ["systemd/auspex-runner.service", join(RUNNER, "systemd/auspex-runner.service")],
  ];
  return Promise.all(sources.map(async ([path, source]) => [path, await readFile(source, "utf8")]));
}

if (import.meta.main) await packRunner(process.argv[2] ?? ".");
