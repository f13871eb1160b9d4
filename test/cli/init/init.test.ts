/** `auspex init`: its folder can be published, and the Node model runs unchanged. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { modelNameOf, TEMPLATE_NAMES } from "../../../src/cli/commands/init.ts";
import { readProject } from "../../../src/cli/publish/project.ts";
import { Home } from "../support/command.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";
import { inTerminal } from "../support/terminal.ts";

let home: Home;
beforeAll(() => {
  home = new Home();
});
afterAll(() => home.remove());

test.each(TEMPLATE_NAMES)("the template %s can be published", async (template) => {
  const folder = `my-${template}`;
  const { code, out } = await home.call(["init", folder, "--template", template, "--json"]);
  expect(code).toBe(0);
  const path = join(home.folder, folder);
  expect(readdirSync(path).sort()).toEqual(JSON.parse(out).files.sort());
  const project = await readProject(path);
  expect(project.manifest.name).toBe(folder);
  expect(project.builder).toBe(template === "cog" ? "cog" : "dockerfile");
  if (template === "cog") {
    const [, file = "", name] =
      /predict: "(.+):(.+)"/.exec(readFileSync(join(path, "cog.yaml"), "utf8")) ?? [];
    expect(readFileSync(join(path, file), "utf8")).toContain(`class ${name}(`);
  }
});

test("a folder whose name no model can have gets another model name, and the next commands", async () => {
  const { code, out, err } = await home.call(["init", "Ada's Name!", "--template", "node"]);
  expect(code, err).toBe(0);
  expect(out).toMatch(/ in Ada's Name!\. The model's name is ada-s-name\. Next: /);
  const [, next = ""] = /Next: (.+)\n$/.exec(out) ?? [];
  const pasted = spawnSync("sh", ["-c", `printf %s ${next.replace(/^auspex publish |$/g, "")}`]);
  expect(pasted.stdout.toString()).toBe("Ada's Name!");
  const { manifest } = await readProject(join(home.folder, "Ada's Name!"));
  expect(manifest.name).toBe("ada-s-name");
  const plain = await home.call(["init", "plain", "--template", "node"]);
  expect(plain.out).toMatch(/ in plain\. Next: auspex publish plain\n$/);
});

test("init writes into the folder in which it runs", async () => {
  const here = new Home();
  onTestFinished(() => here.remove());
  const { out, err } = await here.call(["init", "--template", "node"]);
  expect(out, err).toMatch(/ in this folder\. .*Next: auspex publish\n$/);
});

test("a folder whose name has no valid characters is refused, and nothing is written", async () => {
  const { code, out, err } = await home.call(["init", "日本", "--template", "node"]);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain('Invalid model name "日本"');
  expect(err).toContain("auspex init story");
  expect(readdirSync(home.folder)).not.toContain("日本");
});

test("no existing file is overwritten, and nothing is asked without a terminal", async () => {
  await home.call(["init", "once", "--template", "node"]);
  const again = await home.call(["init", "once", "--template", "cog"]);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining("already has") });
  expect(readdirSync(join(home.folder, "once"))).not.toContain("cog.yaml");
  const unnamed = await home.call(["init", "other"]);
  expect(unnamed).toMatchObject({
    code: 2,
    err: expect.stringContaining("--template with one of cog, node"),
  });
  expect(await home.call(["init", "--template", "java"])).toMatchObject({ code: 2 });
});

test("init asks in a terminal for the name, the template and the hardware", async () => {
  const deployment = await FakeDeployment.open();
  deployment.hardware = ["cpu", "l40s"];
  const here = new Home({ AUSPEX_URL: deployment.url, AUSPEX_TOKEN: "aus_x" });
  onTestFinished(() => {
    deployment.close();
    here.remove();
  });
  const { code, screen } = await inTerminal(
    here,
    ["init"],
    { keys: "\u0015poet\r", after: /Model name/ },
    { keys: "\u001b[B\r", after: /Template[\s\S]*llama-cpp/ },
    { keys: "\u001b[B\r", after: /Hardware[\s\S]*l40s/ },
  );
  expect(code, screen).toBe(0);
  expect(screen).toContain("Next: auspex publish poet");
  const { manifest, builder } = await readProject(join(here.folder, "poet"));
  expect([manifest.name, manifest.hardware, builder]).toEqual(["poet", "l40s", "dockerfile"]);
});

test("the Node model answers a prediction", async () => {
  await home.call(["init", "greeter", "--template", "node"]);
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  const port = typeof address === "object" ? address?.port : undefined;
  const model = spawn(process.execPath, ["model.mjs"], {
    cwd: join(home.folder, "greeter"),
    env: { ...process.env, PORT: String(port), HOST: "127.0.0.1" },
    stdio: "ignore",
  });
  try {
    const call = async () => {
      const body = JSON.stringify({ input: { name: "Ada", times: 2 } });
      const headers = { "content-type": "application/json" };
      const url = `http://127.0.0.1:${port}/predictions`;
      return (await fetch(url, { method: "POST", body, headers })).json();
    };
    const answer = expect.poll(() => call().catch(() => undefined), { timeout: 10_000 });
    await answer.toMatchObject({ status: "succeeded", output: ["Hello, Ada! ", "Hello, Ada! "] });
  } finally {
    model.kill();
    await once(model, "close");
  }
});

test("init ends with an error where no folder can be created", async () => {
  const { code, err } = await home.call(["init", "/proc/story", "--template", "node"]);
  expect(code).toBe(1);
  expect(err).toMatch(/Can't write to \/proc\/story: ENOENT.*\n?.*auspex init NAME/);
});

test.each([
  ["story", "story"],
  ["my_story.v2", "my_story.v2"],
  ["Bad Name!", "bad-name"],
  [".hidden -- folder...", "hidden-folder"],
  ["Café", "cafe"],
  ["a..b___c", "a-b-c"],
])("the folder %s gives the model name %s", (folder, name) => {
  expect(modelNameOf(folder)).toBe(name);
});

test.each(["日本", "日本 model", "Straße", "!!!", "", "a".repeat(64)])(
  "the folder %s gives no model name",
  (folder) => {
    expect(modelNameOf(folder)).toBeUndefined();
  },
);
