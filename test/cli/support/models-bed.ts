/** A deployment behind an edge that has one model, for the tests of commands about models. */
import { afterEach, beforeEach } from "vitest";
import { Home } from "./command.ts";
import { Edge } from "./edge.ts";
import { FakeDeployment } from "./fake-deployment.ts";
import { sha256 } from "./memory-registry.ts";

const IMAGE = Buffer.from("{}");
export const DIGEST = sha256(IMAGE);

export let deployment: FakeDeployment;
export let edge: Edge;
export let home: Home;
/** Sets everything up before each test of a file, and removes it afterwards. */
export function useModels(): void {
  beforeEach(async () => {
    deployment = await FakeDeployment.open();
    edge = await Edge.open(deployment.url, 1_000_000);
    home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: "aus_x" });
    const version = { image: DIGEST, release_notes: "First" };
    deployment.models.set("story", { name: "story", visibility: "private", versions: [version] });
    deployment.variables.set("/v1/models/ada/story/variables/HF_TOKEN", "hf_secret");
    for (const reference of ["latest", "second", DIGEST])
      deployment.registry.manifests.set(reference, { type: "", bytes: IMAGE });
  });
  afterEach(() => {
    edge.close();
    deployment.close();
    home.remove();
  });
}

export const deletes = () => edge.bodies.filter(({ method }) => method === "DELETE").length;
