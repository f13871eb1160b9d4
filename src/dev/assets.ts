/**
 * Builds the Worker's static assets: the dashboard's scripts (one for each file directly in
 * src/dashboard/client) and stylesheet, with hashed names, the guides as HTML with their pictures,
 * the packages of the runner and the command, and a manifest.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { renderGuide } from "../dashboard/docs/guide/render.ts";
import type { Manifest } from "../protocol/assets.ts";
import { ROOT } from "./bundle.ts";
import { packCli } from "./cli-package.ts";
import { packRunner } from "./runner-package.ts";

const FOLDER = join(ROOT, ".auspex/assets");
const DASHBOARD = join(ROOT, "src/dashboard");
const GUIDES = join(DASHBOARD, "guides");

/** Assets with hashed names never change. */
const HEADERS = `/assets/*
  Cache-Control: public, max-age=31536000, immutable
  X-Content-Type-Options: nosniff
`;

export async function buildAssets(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const scripts = (await readdir(join(DASHBOARD, "client"))).filter((name) => name.endsWith(".ts"));
  const pictures = (await readdir(GUIDES)).filter((name) => /\.(?:svg|webp)$/.test(name));
  const [{ metafile }, runner, cli] = await Promise.all([
    build({
      entryPoints: [
        ...scripts.map((name) => join(DASHBOARD, "client", name)),
        join(DASHBOARD, "style/style.css"),
        ...pictures.map((name) => join(GUIDES, name)),
      ],
      absWorkingDir: ROOT,
      outdir: join(FOLDER, "assets"),
      entryNames: "[name]-[hash]",
      bundle: true,
      loader: { ".svg": "copy", ".webp": "copy" },
      minify: true,
      metafile: true,
      format: "esm",
      target: "es2022",
      tsconfig: join(DASHBOARD, "client/tsconfig.json"),
      logLevel: "warning",
    }),
    packRunner(FOLDER),
    packCli(FOLDER),
  ]);
  const files: Manifest["files"] = {};
  for (const [output, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint)
      files[basename(entryPoint).replace(/\.ts$/, "")] = `/assets/${basename(output)}`;
  }
  const manifest: Manifest = { files, runner, cli };
  await Promise.all([
    writeFile(join(FOLDER, "manifest.json"), JSON.stringify(manifest)),
    writeFile(join(FOLDER, "_headers"), HEADERS),
    writeGuides(files),
    removeOld(files),
  ]);
}

async function writeGuides(files: Manifest["files"]): Promise<void> {
  const folder = join(FOLDER, "docs");
  await mkdir(folder, { recursive: true });
  const imageUrl = (name: string) => {
    const url = files[name];
    if (url === undefined) throw new Error(`A guide shows ${name}, which is not beside it.`);
    return url;
  };
  const guides = (await readdir(GUIDES)).filter((name) => name.endsWith(".md"));
  for (const name of guides) {
    const guide = renderGuide(await readFile(join(GUIDES, name), "utf8"), imageUrl);
    await writeFile(join(folder, `${basename(name, ".md")}.json`), JSON.stringify(guide));
  }
}

/** What is not of this build: pages that still ask for it get what there is now (src/routes/assets.ts). */
async function removeOld(files: Manifest["files"]): Promise<void> {
  const current = Object.values(files).map((path) => basename(path));
  for (const name of await readdir(join(FOLDER, "assets")))
    if (!current.includes(name)) await rm(join(FOLDER, "assets", name), { force: true });
}

if (import.meta.main) await buildAssets();
