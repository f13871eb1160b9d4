/** Shares that end, with an account, a model, a suspension, or by themselves. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CHECK_MS } from "../../../src/domain/accounts/access.ts";
import type { ShareLevel } from "../../../src/protocol/organization.ts";
import { deleteAccount } from "../../../src/services/accounts/delete-account.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { run, services } from "../support/accounts.ts";
import { answer, chat, chunk, newOpenAi, put } from "../support/openai.ts";
import { newResponses } from "../support/openai-responses.ts";
import { listed, share, unshare } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld, operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const STALE = 10.001;

/** Streams are checked at intervals, which these timers make. */
function withTimers(): void {
  startClock();
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
}

test("a closed account neither has nor gives shares any more", async () => {
  const [world, friend] = [await newWorld(), await newWorld()];
  const { client, model } = world;
  await share(client, model, friend, "run");
  await share(friend.client, friend.model, world, "run");
  const rows = (id: string) =>
    run(
      `SELECT 1 FROM collaborators JOIN models m ON m.id = model_id
        WHERE account_id = ?1 OR m.owner_id = ?1`,
      id,
    );
  expect(await rows(friend.user_id)).toHaveLength(2);
  await deleteAccount(services, friend);
  expect(await rows(friend.user_id)).toEqual([]);
  expect(await listed(client, model)).toEqual([]);
  expect((await client.fetch(`/v1/models/${friend.model}`)).status).toBe(404);
});

test("a deleted model leaves no share behind", async () => {
  const { client, model } = await newWorld();
  const friend = await newUser();
  await share(client, model, friend, "write");
  await client.ok("DELETE", `/v1/models/${model}`);
  expect(await run("SELECT 1 FROM collaborators WHERE account_id = ?", friend.user_id)).toEqual([]);
});

test("a suspended collaborator keeps the share, and the models of a suspended owner are gone until it ends", async () => {
  const { client, model, username } = await newWorld();
  const friend = await newUser();
  await share(client, model, friend, "write");
  const suspension = `/v1/operator/users/${friend.username}/suspension`;
  await operator.ok("PUT", suspension);
  await operator.ok("DELETE", suspension);
  const shared = async () =>
    (await friend.client.ok<Page<object>>("GET", "/v1/user/models?shared=true")).items.length;
  expect(await shared()).toBe(1);
  await operator.ok("PUT", `/v1/operator/users/${username}/suspension`);
  expect(await shared()).toBe(0);
  await operator.ok("DELETE", `/v1/operator/users/${username}/suspension`);
  expect(await shared()).toBe(1);
});

test.each<ShareLevel>(["run", "write"])(
  "a chat stream of a collaborator at %s ends with the share",
  async (level) => {
    withTimers();
    const { client, model, fleet } = await newOpenAi({ visibility: "private" });
    const friend = await newUser();
    await share(client, model, friend, level);
    const asked = chat(friend.client, model, { stream: true });
    const { channel } = await fleet.work();
    await put(channel, chunk({ role: "assistant", content: "on" }));
    const stream = await asked;
    expect(stream.status).toBe(200);
    await unshare(client, model, friend);
    await vi.advanceTimersByTimeAsync(CHECK_MS);
    // A stream that was ended notices it with the next event, or after 15 s of silence.
    await put(channel, chunk({ content: "more" }));
    const text = await stream.text();
    expect(text).toContain("no longer shared with you");
    expect(text).not.toContain("[DONE]");
    await vi.advanceTimersByTimeAsync(STALE * 1_000);
    expect((await chat(friend.client, model)).status).toBe(404);
  },
);

test("a socket of responses answers no further message once the share has ended", async () => {
  const { client, model, fleet } = await newResponses({ visibility: "private" });
  const friend = await newUser();
  await share(client, model, friend, "run");
  const upgrade = { headers: { upgrade: "websocket" } };
  const { webSocket } = await friend.client.fetch("/v1/vendora/responses", upgrade);
  const messages: { type: string }[] = [];
  webSocket?.addEventListener("message", ({ data }) => messages.push(JSON.parse(String(data))));
  webSocket?.accept();
  const create = () =>
    webSocket?.send(JSON.stringify({ type: "response.create", model, input: "Go on" }));
  const last = () => messages.at(-1);
  create();
  await answer(fleet, "once");
  await expect.poll(last).toMatchObject({ type: "response.completed" });
  await unshare(client, model, friend);
  advance(STALE);
  create();
  await expect.poll(last).toMatchObject({ type: "error", error: { code: "model_not_found" } });
  webSocket?.close();
});
