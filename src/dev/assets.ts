/**
 * Builds the Worker's static assets: the dashboard's scripts (one for each file directly in
 * src/dashboard/client) and stylesheet, with hashed names, the guides as HTML with their pictures,
 * the packages of the runner, the command and receivers of webhooks, and a manifest.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { passagesOf, renderGuide } from "../dashboard/docs/guide/render.ts";
import { ICONS } from "../dashboard/ui/icons.ts";
import type { Manifest, Passage } from "../protocol/assets.ts";
import { ASSETS_BUILT, ROOT } from "./bundle.ts";
import { packCli, packReceiver, packRunner } from "./packages.ts";

/** The folder that a Worker serves ([assets] of wrangler.toml). */
export const SERVED = join(ROOT, ".auspex/assets");
/** Each process builds in a folder of its own: a Worker that starts while others build reads whole files. */
const FOLDER = join(ROOT, `.auspex/assets-${process.pid}`);
const DASHBOARD = join(ROOT, "src/dashboard");
const { resolve } = createRequire(import.meta.url);
const GUIDES = join(DASHBOARD, "guides");

const MANIFEST = "manifest.json";

/** Assets with hashed names never change. */
const HEADERS = `/assets/*
  Cache-Control: public, max-age=31536000, immutable
  X-Content-Type-Options: nosniff
`;

export async function buildAssets(): Promise<void> {
  try {
    const files = await writeAssets();
    await serve();
    await removeOld(files);
  } finally {
    await rm(FOLDER, { recursive: true, force: true });
  }
}

/** Builds everything in `FOLDER`. @returns the addresses of the bundled files, by the names of their sources */
async function writeAssets(): Promise<Manifest["files"]> {
  await mkdir(FOLDER, { recursive: true });
  const scripts = (await readdir(join(DASHBOARD, "client"))).filter((name) => name.endsWith(".ts"));
  const pictures = (await readdir(GUIDES)).filter((name) => /\.(?:svg|webp)$/.test(name));
  const [code, docs, copied, icons, bird, runner, cli] = await Promise.all([
    bundle({
      entryPoints: [
        ...scripts.map((name) => join(DASHBOARD, "client", name)),
        join(DASHBOARD, "style/style.css"),
      ],
      // Fonts that few pages need are files.
      loader: { ".woff2": "copy" },
      plugins: [woff2Only, lettersInside, iconsInside],
    }),
    // Fonts of the documentation stay files: the API reference weighs 75 KB without them.
    bundle({
      entryPoints: [join(DASHBOARD, "docs/style/docs.css")],
      loader: { ".woff2": "copy" },
      plugins: [woff2Only],
    }),
    bundle({
      entryPoints: [
        join(DASHBOARD, "style/bird.png"),
        ...pictures.map((name) => join(GUIDES, name)),
      ],
      loader: { ".png": "copy", ".svg": "copy", ".webp": "copy" },
    }),
    readIcons(),
    // The bird has no `<title>`: the name stands beside it.
    drawing(join(DASHBOARD, "style/bird.svg")).then((svg) => svg.replace(/<title>.*<\/title>/, "")),
    packRunner(FOLDER),
    packCli(FOLDER),
    packReceiver(FOLDER),
  ]);
  const files = { ...code, ...docs, ...copied };
  const manifest: Manifest = { files, icons, bird, runner, cli };
  await Promise.all([
    writeFile(join(FOLDER, MANIFEST), JSON.stringify(manifest)),
    writeFile(join(FOLDER, "_headers"), HEADERS),
    writeGuides(files),
  ]);
  return files;
}

/** Moves what was built to where it is served; the manifest comes last, because it names other files. */
async function serve(): Promise<void> {
  const entries = await readdir(FOLDER, { recursive: true, withFileTypes: true });
  const built = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(FOLDER, join(parentPath, name)))
    .filter((path) => path !== MANIFEST);
  for (const path of [...built, MANIFEST]) {
    await mkdir(dirname(join(SERVED, path)), { recursive: true });
    await rename(join(FOLDER, path), join(SERVED, path));
  }
}

/** All browsers read WOFF2; the package names WOFF files, too. */
const woff2Only: Plugin = {
  name: "woff2-only",
  setup({ onLoad }) {
    onLoad({ filter: /@fontsource\/.*\.css$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replaceAll(
        /, url\(\S+\.woff\) format\('woff'\)/g,
        "",
      ),
      loader: "css",
    }));
  },
};

/**
 * The letters of most pages lie in the stylesheet: as files they either come after the first paint, which
 * then changes, or are preloaded, for which Chromium delays it by up to 50 ms.
 */
const lettersInside: Plugin = {
  name: "letters-inside",
  setup({ onLoad }) {
    onLoad({ filter: /figtree-latin-[46]00-normal\.woff2$/ }, async ({ path }) => ({
      contents: await readFile(path),
      loader: "dataurl",
    }));
  },
};

/** The icons of statuses are paths: as images, each would be a document of its own to Chromium. */
const iconsInside: Plugin = {
  name: "icons-inside",
  setup({ onLoad }) {
    onLoad({ filter: /style\/icons\.css$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const [address, icon] of contents.matchAll(/url\("(heroicons\/[^"]+)"\)/g))
        contents = contents.replace(address, await pathOf(icon ?? ""));
      return { contents, loader: "css" };
    });
  },
};

/** The function `path()` of CSS. */
async function pathOf(icon: string): Promise<string> {
  const svg = await drawing(resolve(icon));
  const paths = [...svg.matchAll(/\sd="([^"]+)"/g)].map(([, path]) => path);
  return `path(${svg.includes("evenodd") ? "evenodd" : "nonzero"}, "${paths.join("")}")`;
}

/** @returns the addresses of the built files, by the names of their sources */
async function bundle(
  options: Pick<BuildOptions, "entryPoints" | "loader" | "plugins">,
): Promise<Manifest["files"]> {
  const { metafile } = await build({
    ...options,
    absWorkingDir: ROOT,
    outdir: join(FOLDER, "assets"),
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    metafile: true,
    format: "esm",
    target: "es2022",
    tsconfig: join(DASHBOARD, "client/tsconfig.json"),
    logLevel: "warning",
  });
  return Object.fromEntries(
    Object.entries(metafile.outputs).map(([output, { entryPoint, inputs }]) => {
      const source = entryPoint ?? Object.keys(inputs)[0] ?? output;
      return [basename(source).replace(/\.ts$/, ""), `/assets/${basename(output)}`];
    }),
  );
}

async function readIcons(): Promise<Manifest["icons"]> {
  const read = async ([name, file]: [name: string, file: string]) =>
    [name, await drawing(resolve(`heroicons/16/solid/${file}.svg`))] as const;
  return Object.fromEntries(await Promise.all(Object.entries(ICONS).map(read)));
}

async function drawing(path: string): Promise<string> {
  const [, inside] = /^<svg[^>]*>(.*)<\/svg>\s*$/s.exec(await readFile(path, "utf8")) ?? [];
  if (inside === undefined) throw new Error(`${path} is no SVG.`);
  return inside.trim();
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
  const passages: Passage[] = [];
  for (const file of guides) {
    const name = basename(file, ".md");
    const guide = renderGuide(await readFile(join(GUIDES, file), "utf8"), imageUrl);
    const { title, introduction, sections } = guide;
    passages.push(...passagesOf({ title, html: introduction + sections }, `/docs/${name}`));
    await writeFile(join(folder, `${name}.json`), JSON.stringify(guide));
  }
  await writeFile(join(FOLDER, "docs-passages.json"), JSON.stringify(passages));
}

/** Removes files of older builds: pages that still ask for them get the new ones (src/routes/assets.ts). */
async function removeOld(files: Manifest["files"]): Promise<void> {
  const current = Object.values(files).map((path) => basename(path));
  for (const name of await readdir(join(SERVED, "assets")))
    if (!current.includes(name)) await rm(join(SERVED, "assets", name), { force: true });
}

/** wrangler runs this before each bundle. `bundle` says whether its caller has built the assets. */
if (import.meta.main && process.env[ASSETS_BUILT] === undefined) await buildAssets();
