/** `auspex versions` as a user calls it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "../support/command.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";

let deployment: FakeDeployment;
let home: Home;
beforeEach(async () => {
  deployment = await FakeDeployment.open();
  home = new Home({ AUSPEX_URL: deployment.url, AUSPEX_TOKEN: "aus_x" });
});
afterEach(() => {
  deployment.close();
  home.remove();
});

const DIGEST = `sha256:${"a".repeat(64)}`;

test("a version has the known sizes of its image", async () => {
  const one = { release_notes: "First", image: DIGEST };
  deployment.models.set("story", {
    name: "story",
    visibility: "private",
    versions: [one, { ...one, size: 1_234_567_890 }],
  });
  const imageOf = async (number: number) => {
    const { code, out, err } = await home.run(["versions", `ada/story:${number}`]);
    expect(code, err).toBe(0);
    return out.split("\n").find((line) => line.startsWith("image"));
  };
  expect(await imageOf(1)).toBe(`image    ${DIGEST}`);
  expect(await imageOf(2)).toBe(`image    ${DIGEST} (1.2 GB unpacked)`);
});
