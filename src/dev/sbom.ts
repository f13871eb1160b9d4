/**
 * A CycloneDX bill of materials of what we ship: the packages in the bundle, not everything in
 * node_modules. The same sources give the same text. For the Worker: npm run --silent sbom. The
 * runner's package contains its own.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { bundle, METAFILE, ROOT } from "./bundle.ts";

const packageJson = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().default("NOASSERTION"),
});

const metafileJson = z.object({ inputs: z.record(z.string(), z.unknown()) });

export interface Package extends z.infer<typeof packageJson> {
  folder: string;
}

const FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

export async function packagesIn({ inputs }: z.infer<typeof metafileJson>): Promise<Package[]> {
  const folders = Object.keys(inputs).flatMap((path) => FOLDER.exec(path) ?? []);
  return Promise.all(
    [...new Set(folders)].sort().map(async (path) => {
      const folder = join(ROOT, path);
      return { ...packageJson.parse(await json(join(folder, "package.json"))), folder };
    }),
  );
}

/** https://cyclonedx.org/docs/1.6/json/ */
export function sbomText(of: { name: string; version: string }, packages: Package[]): string {
  const component = ({ name, version }: { name: string; version: string }, type: string) => {
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    return { type, "bom-ref": purl, name, version, purl };
  };
  const bom = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: component(of, "application") },
    components: packages.map((one) => ({
      ...component(one, "library"),
      licenses: [{ expression: one.license }],
    })),
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

const json = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, "utf8"));

/** Returns the bill of materials of the Worker as it would be deployed. */
async function workerSbom(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "auspex-sbom-"));
  try {
    await bundle(folder);
    const metafile = metafileJson.parse(await json(join(folder, METAFILE)));
    const own = packageJson.parse(await json(join(ROOT, "package.json")));
    return sbomText(own, await packagesIn(metafile));
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.main) process.stdout.write(await workerSbom());
