/** `auspex deploy`, `auspex deployments` and the roll-back of a deployment. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "../support/command.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";

let service: FakeDeployment;
let home: Home;
beforeEach(async () => {
  service = await FakeDeployment.open();
  home = new Home({ AUSPEX_URL: service.url, AUSPEX_TOKEN: "aus_x" });
});
afterEach(() => {
  service.close();
  home.remove();
});

const run = async (line: string) => {
  const { code, out, err } = await home.call(line.split(" "));
  expect(code, err).toBe(0);
  return out;
};

test("a deployment is made, changed, rolled back and deleted", async () => {
  expect(await run("deploy chat ada/story --min 1 --priority high")).toBe(
    "ada/chat runs ada/story:1 as release 1.\nContainers that stop for it: 1 of other accounts.\n",
  );
  const [first] = service.deployments.get("chat") ?? [];
  expect(first).toEqual({ model: "ada/story", min_instances: 1, priority: "high" });
  expect(await run("deploy chat story:2 --dry-run")).toContain(
    "ada/chat would run ada/story:2 as release 2. Nothing was changed.",
  );
  expect(await run("deploy ada/chat story:2")).toContain("ada/chat runs ada/story:2 as release 2.");
  expect(await run("deployments")).toMatch(/\nada\/chat +2 +ada\/story:2 +cpu +1 of 1/);
  expect(await run("deployments releases chat")).toMatch(
    /\n2 +runs +ada\/story:2 +\S+ \S+ +1,204 +12 +0\.2s\/1\.4s +2s\/4\.8s +\$1\.50\n1 +replaced +ada\/story:1/,
  );
  expect(await run("rollback chat")).toBe("ada/chat runs ada/story:1 as release 1.\n");
  expect(await run("deployments delete chat --yes")).toBe("Deleted ada/chat.\n");
  expect(JSON.parse(await run("deployments --json"))).toEqual([]);
});

test("a new deployment needs a model, and a probe is an object of JSON", async () => {
  const { code, err } = await home.call(["deploy", "chat", "--min", "1"]);
  expect([code, err]).toEqual([
    2,
    "auspex: There is no deployment ada/chat. Name the model that it shall run.\n",
  ]);
  const probe = await home.call(["deploy", "chat", "story", "--probe", "[1]"]);
  expect(probe.code).toBe(2);
  expect(probe.err).toContain("Use the input of a run as JSON");
});

test("the probe and the fallbacks of a deployment are set, and removed with --no-probe and --no-fallback", async () => {
  await run('deploy chat story --probe {"prompt":"Hi"} --fallback ada/small=20 ada/far');
  const fallbacks = [
    { model: "ada/small", after_seconds: 20 },
    { model: "ada/far", after_seconds: null },
  ];
  const first = { model: "ada/story", probe: { input: { prompt: "Hi" } }, fallbacks };
  await run("deploy chat --max 3");
  expect(service.deployments.get("chat")).toEqual([first, { ...first, max_instances: 3 }]);
  await run("deploy chat --no-probe --no-fallback");
  expect(service.deployments.get("chat")?.at(-1)).toMatchObject({ probe: null, fallbacks: [] });
});

test("a roll-back of a deployment to a numbered version names the commands that do it", async () => {
  await run("deploy chat story");
  const { code, err } = await home.call(["rollback", "chat:1"]);
  expect(code).toBe(2);
  expect(err).toContain("auspex rollback ada/chat. To run another version: auspex deploy ada/chat");
});
