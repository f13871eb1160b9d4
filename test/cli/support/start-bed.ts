/** A deployment behind an edge, and an engine with a small image, for tests of a version's first start. */
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { archiveOf, fakeDocker } from "./archives.ts";
import { Home } from "./command.ts";
import { Edge } from "./edge.ts";
import { FakeDeployment } from "./fake-deployment.ts";

export let deployment: FakeDeployment;
export let edge: Edge;
export let home: Home;
/** Sets everything up before each test of a file, and removes it afterwards. */
export function useStart(): void {
  beforeEach(async () => {
    deployment = await FakeDeployment.open();
    edge = await Edge.open(deployment.url, 1024 * 1024);
    home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: "aus_x" });
    const engine = fakeDocker(home.folder, await archiveOf("oci", [Buffer.from("small")]));
    home.environment.PATH = [engine, process.env.PATH].join(delimiter);
    mkdirSync(join(home.folder, "story"));
    writeFileSync(join(home.folder, "story/Dockerfile"), "FROM scratch\n");
  });
  afterEach(() => {
    edge.close();
    deployment.close();
    home.remove();
  });
}

export const isCalled = (end: string) => edge.bodies.some(({ path }) => path.endsWith(end));
