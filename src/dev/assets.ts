/**
 * What is built beside the Worker, into the folder of its static assets: the dashboard's scripts
 * (a file of src/dashboard/client each, its folders have their parts) and style under names that
 * change with their bytes, the runner's package, and the list of them.
 */
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";
import type { Manifest } from "../protocol/assets.ts";
import { ROOT } from "./bundle.ts";
import { packRunner } from "./runner-package.ts";

const FOLDER = join(ROOT, ".auspex/assets");
const DASHBOARD = join(ROOT, "src/dashboard");

/** For names with a hash: whatever has another content has another name. */
const HEADERS = `/assets/*
  Cache-Control: public, max-age=31536000, immutable
  X-Content-Type-Options: nosniff
`;

export async function buildAssets(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const scripts = (await readdir(join(DASHBOARD, "client"))).filter((name) => name.endsWith(".ts"));
  const [{ metafile }, runner] = await Promise.all([
    build({
      entryPoints: [
        ...scripts.map((name) => join(DASHBOARD, "client", name)),
        join(DASHBOARD, "style/style.css"),
      ],
      absWorkingDir: ROOT,
      outdir: join(FOLDER, "assets"),
      entryNames: "[name]-[hash]",
      bundle: true,
      minify: true,
      metafile: true,
      format: "esm",
      target: "es2022",
      tsconfig: join(DASHBOARD, "client/tsconfig.json"),
      logLevel: "warning",
    }),
    packRunner(FOLDER),
  ]);
  const files: Manifest["files"] = {};
  for (const [output, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint)
      files[basename(entryPoint).replace(/\.ts$/, "")] = `/assets/${basename(output)}`;
  }
  const manifest: Manifest = { files, runner };
  await Promise.all([
    writeFile(join(FOLDER, "manifest.json"), JSON.stringify(manifest)),
    writeFile(join(FOLDER, "_headers"), HEADERS),
    removeOld(),
  ]);
}

/** What a page that is still open somewhere may ask for. */
const KEPT_MS = 7 * 86_400_000;

async function removeOld(): Promise<void> {
  for (const name of await readdir(join(FOLDER, "assets"))) {
    const file = join(FOLDER, "assets", name);
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > KEPT_MS) await rm(file, { force: true });
  }
}

if (import.meta.main) await buildAssets();
