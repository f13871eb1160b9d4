/**
 * Commands about models, versions, tags and variables: lists, and deletes, which ask or need --yes and delete
 * once even if an answer is lost.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { sized } from "../../support/sized.ts";
import { Home } from "../support/command.ts";
import { DIGEST, deletes, deployment, edge, home, useModels } from "../support/models-bed.ts";
import { inTerminal } from "../support/terminal.ts";

useModels();

const TAG = { model: "ada/story", reference: "latest" };
const ALL: [args: string, said: string, told: object][] = [
  ["models delete ada/story", "Deleted ada/story.", { model: "ada/story" }],
  ["versions delete ada/story:1", "Deleted ada/story:1.", { model: "ada/story", number: 1 }],
  ["tags delete ada/story:latest", "Deleted tag ada/story:latest.", TAG],
  [
    `tags delete ada/story@${DIGEST}`,
    `Deleted image ada/story@${DIGEST}.`,
    { ...TAG, reference: DIGEST },
  ],
  [
    "variables delete ada/story HF_TOKEN",
    "Deleted HF_TOKEN from ada/story.",
    { model: "ada/story", name: "HF_TOKEN" },
  ],
];

test.each(ALL)(
  "%s is refused without --yes in a script, and deletes once with it",
  async (line, said) => {
    const args = line.split(" ");
    const message = "Refusing to delete without confirmation. Pass --yes.";
    expect(await home.call(args)).toEqual({ code: 2, out: "", err: `auspex: ${message}\n` });
    const { code, out, err } = await home.call([...args, "--json"]);
    expect([code, out, JSON.parse(err)]).toEqual([2, "", { error: { message, exit_code: 2 } }]);
    expect(edge.bodies).toEqual([]);
    expect(await home.call([...args, "--yes"])).toEqual({ code: 0, out: `${said}\n`, err: "" });
    expect(await home.call([...args, "-y"])).toMatchObject({ code: 1, out: "" });
    expect(deletes()).toBe(2);
  },
);

test.each(ALL.slice(0, sized(2, ALL.length)))(
  "%s deletes once with --json and a lost answer",
  async (line, _, told) => {
    edge.fate = (method) => (method === "DELETE" && deletes() === 1 ? "unanswered" : "pass");
    const { code, out, err } = await home.call([...line.split(" "), "--yes", "--json"]);
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toEqual(told);
    expect(deletes()).toBe(2);
  },
);

test("a thing that does not exist is reported, also after a retry", async () => {
  const gone = ["models", "delete", "ada/stroy", "--yes"];
  expect(await home.call(gone)).toMatchObject({ code: 1, out: "" });
  expect(await home.call(["tags", "delete", "ada/story:lates", "--yes"])).toMatchObject({
    code: 1,
    err: "auspex: Tag lates not found in ada/story. List its tags with auspex tags ada/story.\n",
  });
  const before = deletes();
  edge.fate = () => (deletes() === before + 1 ? { status: 429 } : "pass");
  const { code, out, err } = await home.call([...gone, "--json"]);
  expect([code, out]).toEqual([1, ""]);
  expect(JSON.parse(err.slice(err.indexOf("{")))).toMatchObject({ error: { status: 404 } });
});

test("--json before the verb applies to it", async () => {
  const { out } = await home.call(["models", "--json", "delete", "ada/story", "--yes"]);
  expect(JSON.parse(out)).toEqual({ model: "ada/story" });
});

test("an argument that names another kind of thing is refused before anything is sent", async () => {
  const says = async (line: string, message: string) =>
    expect(await home.call([...line.split(" "), "--yes"])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining(message),
    });
  await says("versions delete ada/story", '"ada/story" has no version number. Use ada/story:3.');
  await says("models delete ada/story:1", '"ada/story:1" is a version. Use the model: ada/story.');
  await says("tags delete ada/story", "Use owner/name:tag or owner/name@sha256:…");
  await says(
    "tags delete ada/story@latest",
    'Invalid image "ada/story@latest". Use owner/name:tag',
  );
  await says("variables delete ada/story lower", "upper-case letters");
  expect(edge.bodies).toEqual([]);
});

test("the command asks in a terminal: no leaves everything, yes deletes", async () => {
  const args = ["models", "delete", "ada/story"];
  const after = /Delete ada\/story \(private, 0 runs, version 1\)[\s\S]*Yes[\s\S]*No/;
  expect(await inTerminal(home, args, { keys: "n", after })).toMatchObject({
    code: 1,
    screen: expect.stringContaining("Nothing was deleted."),
  });
  expect(deletes()).toBe(0);
  expect(await inTerminal(home, args, { keys: "y", after })).toMatchObject({
    code: 0,
    screen: expect.stringContaining("Deleted ada/story."),
  });
  expect(deletes()).toBe(1);
});

const LISTS = [
  ["predictions", "ID"],
  ["predictions --model ada/new", "ID"],
  ["models", "MODEL"],
  ["versions ada/new", "VERSION"],
  ["tags ada/new", "TAG"],
  ["variables ada/new", "NAME"],
  ["hardware", "CLASS"],
];
test.each(LISTS.slice(0, sized(2, LISTS.length)))(
  "auspex %s prints an empty list",
  async (line, head) => {
    deployment.models.set("new", { name: "new", visibility: "private", versions: [] });
    deployment.hardware = [];
    deployment.registry.manifests.clear();
    const args = line.split(" ");
    const { code, out, err } = await home.call(args);
    expect([code, err]).toEqual([0, "None.\n"]);
    expect(out).toMatch(new RegExp(`^${head} .*\n$`));
    expect(await home.call([...args, "--quiet"])).toEqual({ code: 0, out, err: "" });
    expect(await home.call([...args, "--json"])).toEqual({ code: 0, out: "[]\n", err: "" });
  },
);

test("the predictions of a model that does not exist are an error", async () => {
  const { code, out, err } = await home.call(["predictions", "--model", "ada/nope"]);
  expect([code, out]).toEqual([1, ""]);
  expect(err).toContain("There is no such thing.");
});

test("a version has the known sizes of its image", async () => {
  const one = { release_notes: "First", image: DIGEST };
  deployment.models.set("story", {
    name: "story",
    visibility: "private",
    versions: [one, { ...one, size: 1_234_567_890 }],
  });
  const imageOf = async (number: number) => {
    const { code, out, err } = await home.call(["versions", `ada/story:${number}`]);
    expect(code, err).toBe(0);
    return out.split("\n").find((line) => line.startsWith("image"));
  };
  expect(await imageOf(1)).toBe(`image    ${DIGEST}`);
  expect(await imageOf(2)).toBe(`image    ${DIGEST} (1.2 GB unpacked)`);
});

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const AT = "2026-11-26T00:00:00.000Z";
const RUN = {
  type: "run",
  quantity: 1,
  unit: "second",
  price: "5.76",
  per: 3_600,
  amount: "0.0016",
};

test("a prediction is printed in local time, with the exact digits of its input and output", async () => {
  const told = {
    ...{ id: ID, model: { owner: "ada", name: "story", version_number: 1 } },
    ...{ created_at: AT, updated_at: AT, status: "succeeded" },
    ...{ setup_time: null, execution_time: "0.412", error: null, metrics: null },
    ...{ cost: { amount: "0.0016", currency: "USD", parts: [RUN] } },
    ...{
      url: `https://example.com/v1/predictions/${ID}`,
      stream: false,
      data_removed: false,
      created_by: null,
    },
  };
  const [input, output] = ['{"seed":18446744073709551615}', '{"score":1.0}'];
  const body = `${JSON.stringify(told).slice(0, -1)},"input":${input},"output":${output}}`;
  const server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const access = { AUSPEX_URL: `http://127.0.0.1:${port}`, AUSPEX_TOKEN: "aus_x" };
  const abroad = new Home({ ...access, TZ: "Europe/Rome" });
  try {
    for (const args of [[], ["--json"]]) {
      const { code, out, err } = await abroad.call(["predictions", ID, ...args]);
      expect(code, err).toBe(0);
      expect(out).toContain(args.length > 0 ? AT : "  2026-11-26 01:00  ");
      expect(out).toContain(args.length > 0 ? '"amount": "0.0016"' : "cost  $0.0016\n");
      expect(out.replaceAll(/\s/g, "")).toContain(input);
      expect(out.replaceAll(/\s/g, "")).toContain(output);
    }
  } finally {
    server.close();
    abroad.remove();
  }
});
