/** Fallbacks of deployments: what answers if the version cannot, and when the version keeps the prediction. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newDeployment, twoVersions } from "../support/deployments.ts";
import { eventsOf, named } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { rowOf } from "../support/objects.ts";
import { lineOf, pool } from "../support/pool.ts";
import { completion, newRemoteWorld, streamOf } from "../support/remote.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World, type WorldOptions } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const MESSAGES = [{ role: "user", content: "Who is the Mad Hatter?" }];
const CHAT = { configuration: { interface: "vendora" as const } };
const FLAGS = { vendora_chat_completions: true };

/** A deployment of a local model, with a remote one as its fallback. */
async function farWorld(after_seconds: number | null = null, options: WorldOptions = CHAT) {
  const far = await newRemoteWorld({ compatibilities: FLAGS });
  await far.answers(completion("The Hatter is far"));
  const world = await newWorld({ compatibilities: FLAGS, ...options });
  const fallbacks = [{ model: far.model, after_seconds }];
  const { name } = await newDeployment(world.client, { model: world.model, fallbacks });
  const deployment = `${world.username}/${name}`;
  const create = async () =>
    (await world.client.create({ model: deployment, input: { messages: MESSAGES } })).body.id;
  return { far, world, deployment, create };
}

const fallbacksOf = async (world: World, id: string) =>
  named(await eventsOf(world.client.stream(id)), "status").filter(
    (data) => (data as { fallback?: string }).fallback !== undefined,
  );

const ends = (world: World, id: string, status: string) =>
  eventually(async () => expect(await world.client.status(id)).toBe(status));

test("a remote fallback answers if no runner begins within its time, and the answer says so", async () => {
  const { far, world, deployment, create } = await farWorld(20);
  const id = await create();
  await lineOf(world, 1);
  await passes(19, id);
  expect(await world.client.status(id)).toBe("pending");
  await passes(2, id);
  await passes(1, id);
  await ends(world, id, "succeeded");
  expect(await world.client.get(id)).toMatchObject({
    deployment,
    model: { owner: far.username, name: "far", version_number: 1 },
  });
  expect(await fallbacksOf(world, id)).toMatchObject([
    {
      fallback: `${far.model}:1`,
      from: `${world.model}:1`,
      reason: "It did not begin to run within 20 s.",
    },
  ]);
  await lineOf(world, 0);
  await eventually(async () =>
    expect(await rowOf(id)).toMatchObject({ model_name: "far", hardware: "remote" }),
  );
});

test("a start that fails is answered by the fallback at once, and its runner is fenced", async () => {
  const { far, world, create } = await farWorld();
  const runner = await world.runner();
  const id = await create();
  const job = await runner.take();
  const channel = await runner.connect(job);
  await channel.report([{ event: "setup", data: { phase: "pulling" } }]);
  const error = { source: "external", message: "The image does not exist." } as const;
  await expect(channel.report([], { status: "failed", output: "none", error })).rejects.toThrow(
    "a fallback answers the prediction",
  );
  await passes(1, id);
  await ends(world, id, "succeeded");
  expect(await fallbacksOf(world, id)).toMatchObject([{ reason: "The image does not exist." }]);
  expect(await far.requests(1)).toHaveLength(1);
  await expect(runner.connect(job)).rejects.toThrow(/409|410|404/);
});

test("an answer of the model is not replaced: an error after its start ends the prediction", async () => {
  const { far, world, create } = await farWorld();
  const runner = await world.runner();
  const id = await create();
  const { channel } = await runner.work();
  await channel.report([], {
    status: "failed",
    output: "none",
    error: { source: "external", message: "The prompt is too long." },
  });
  await ends(world, id, "failed");
  expect(await fallbacksOf(world, id)).toEqual([]);
  expect(await far.requests(0)).toEqual([]);
});

test("a stream that has begun keeps its model, also if its runner is lost", async () => {
  const { world, create } = await farWorld(20);
  const runner = await world.runner();
  const id = await create();
  const { channel } = await runner.work();
  await channel.report([{ event: "output", data: "a" }]);
  await passes(31, id);
  await ends(world, id, "failed");
  expect(await world.client.get(id)).toMatchObject({ model: { name: "story" } });
  expect(await fallbacksOf(world, id)).toEqual([]);
});

test("a run that has begun is given its time, however long that of the fallback is over", async () => {
  const { world, create } = await farWorld(20);
  const runner = await world.runner();
  const id = await create();
  const { channel } = await runner.work();
  await passes(21, id);
  await channel.succeed("late");
  await ends(world, id, "succeeded");
  expect(await world.client.get(id)).toMatchObject({ model: { name: "story" } });
});

test("a prediction that is canceled does not fall back", async () => {
  const { world, create } = await farWorld(20);
  const id = await create();
  await world.client.cancel(id);
  expect(await world.client.status(id)).toBe("canceled");
  expect(await fallbacksOf(world, id)).toEqual([]);
});

test("a fallback of the same pool gets the job, and the job of the version before is gone", async () => {
  const { world, create } = await twoVersions();
  const id = await create();
  await lineOf(world, 1);
  await passes(6, id);
  const runner = await world.runner();
  const { job, channel } = await runner.work();
  expect(job).toMatchObject({ prediction_id: id, model: { name: "other" } });
  await channel.succeed("b");
  await ends(world, id, "succeeded");
  expect((await pool(world).status()).waiting).toBe(0);
});

test("an object that restarts after it has fallen back goes on with the fallback", async () => {
  const { far, world, create } = await farWorld(20);
  await far.answers({ status: 503, headers: { "retry-after": "600" } }, completion("later"));
  const id = await create();
  await lineOf(world, 1);
  await passes(21, id);
  await abortAllDurableObjects();
  expect(await world.client.get(id)).toMatchObject({ model: { name: "far" } });
});

/** Chats with the deployment, whose runners are all gone, until the fallback answers. */
async function chat(stream: boolean) {
  const { far, world, deployment } = await farWorld(1);
  await far.answers(stream ? streamOf("The ", "Hatter") : completion("The Hatter"));
  const response = world.client.fetch("/v1/vendora/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: deployment, stream, messages: MESSAGES }),
  });
  await lineOf(world, 1);
  const { items } = await world.client.ok<{ items: { id: string }[] }>("GET", "/v1/predictions");
  const [{ id } = { id: "" }] = items;
  await passes(2, id);
  await passes(1, id);
  const answer = await response;
  expect(answer.status).toBe(200);
  return { answer, far };
}

test("a chat of OpenAI's API is streamed by the fallback", async () => {
  const { answer } = await chat(true);
  expect(await answer.text()).toMatch(/Hatter[\s\S]*\[DONE\]/);
});

test("a header of a chat of OpenAI's API names the version that answered", async () => {
  const { answer, far } = await chat(false);
  expect(answer.headers.get("x-auspex-answered-by")).toBe(`${far.model}:1`);
});

test("fallbacks that cannot answer are refused, with what to do", async () => {
  const far = await newRemoteWorld({ compatibilities: FLAGS });
  const world = await newWorld();
  const { client, username, model } = world;
  const { name } = await newDeployment(client, { model });
  const refused = async (base: string, fallback: string) =>
    (
      await client.json<{ detail: { msg: string }[] }>("POST", "/v1/deployments", {
        name: "refused",
        model: base,
        fallbacks: [{ model: fallback }],
      })
    ).body.detail[0]?.msg;
  expect(await refused(model, `${username}/none`)).toMatch(/does not exist|not found/i);
  expect(await refused(model, `${username}/${name}`)).toMatch(/is a deployment\. Name a model/);
  expect(await refused(model, far.model)).toMatch(/needs the same interface/);
  const local = await newWorld({ configuration: { interface: "vendora", local_only: true } });
  const answer = await local.client.json<{ detail: { msg: string }[] }>("POST", "/v1/deployments", {
    name: "local",
    model: local.model,
    fallbacks: [{ model: far.model }],
  });
  expect(answer.body.detail[0]?.msg).toMatch(/stay on this installation's machines/);
  const open = await newWorld({ configuration: { interface: "vendora" }, visibility: "public" });
  const chain = await local.client.json<{ detail: { msg: string }[] }>("POST", "/v1/deployments", {
    name: "chain",
    model: open.model,
    fallbacks: [{ model: local.model }, { model: far.model }],
  });
  expect(chain.body.detail[0]?.msg).toMatch(/inputs of '.*' stay on this installation's machines/);
});
