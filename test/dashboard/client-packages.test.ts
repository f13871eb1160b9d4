import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";

const CLIENT = join(import.meta.dirname, "../../src/dashboard/client");

test("a script of the dashboard has no schemas: zod alone weighs more than a page may", async () => {
  const scripts = (await readdir(CLIENT)).filter((name) => name.endsWith(".ts"));
  const { metafile } = await build({
    entryPoints: scripts.map((name) => join(CLIENT, name)),
    bundle: true,
    format: "esm",
    metafile: true,
    write: false,
    outdir: CLIENT,
    logLevel: "silent",
  });
  expect(scripts).toContain("prediction.ts");
  const packages = Object.keys(metafile.inputs).filter((path) => path.includes("node_modules/"));
  expect(packages.filter((path) => path.includes("/zod/"))).toEqual([]);
});
