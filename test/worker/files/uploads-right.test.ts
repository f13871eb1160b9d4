/** URLs of parts, which are valid only as long as their token or session is. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { tokenPrefix } from "../../../src/domain/accounts/token.ts";
import type { Upload } from "../../../src/protocol/upload.ts";
import type { Client, Refusal } from "../support/client.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { beginRunnerUpload, beginUpload, putPart, sendPart } from "../support/files.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld, operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const suspension = (username: string) => `/v1/operator/users/${username}/suspension`;

const statusOf = async (url: string | undefined) => (await putPart(url, "abc")).status;

/** Sends a part that must be refused and leave nothing. Returns the status and detail. */
async function refused({ id, urls }: Pick<Upload, "id" | "urls">) {
  const response = await putPart(urls[0], "abc");
  const { detail } = await response.json<Refusal>();
  const parts = env.DB.prepare("SELECT count(*) AS n FROM upload_parts WHERE upload_id = ?");
  expect(await parts.bind(id).first("n")).toBe(0);
  return [response.status, detail];
}

/** Revokes a token as another isolate does, while this one has it cached. */
const revokedElsewhere = ({ token }: Client) =>
  env.DB.prepare("DELETE FROM tokens WHERE prefix = ?")
    .bind(tokenPrefix(token ?? ""))
    .run();

test("part URLs of a revoked token are refused, and another token gets new ones", async () => {
  const { username, client } = await newUser();
  const leaked = await newClient(username);
  const begun = await beginUpload(leaked, 3);
  await revokedElsewhere(leaked);
  expect(await refused(begun)).toEqual([
    403,
    expect.stringMatching(/has ended\. GET \/v1\/uploads\/\{id\} with another/),
  ]);
  const again = await client.ok<Upload>("GET", `/v1/uploads/${begun.id}`);
  const etags = [await sendPart(again.urls[0], "abc")];
  await client.ok("POST", `/v1/uploads/${begun.id}/complete`, { etags });
});

test("part URLs of a token that is revoked by another isolate are refused within 10 s", async () => {
  const { username } = await newUser();
  const leaked = await newClient(username);
  const { urls } = await beginUpload(leaked, 3);
  await sendPart(urls[0], "abc");
  await revokedElsewhere(leaked);
  advance(10.001);
  expect(await statusOf(urls[0])).toBe(403);
});

test("part URLs end when their token expires", async () => {
  const { username } = await newUser();
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  const { urls } = await beginUpload(await newClient(username, { expires_at }), 3);
  advance(59);
  await sendPart(urls[0], "abc");
  advance(1.001);
  expect(await statusOf(urls[0])).toBe(403);
});

test("part URLs of a session end with it", async () => {
  const { visitor, user_id } = await newDashboardUser();
  const begin = async () => {
    const body = { size: 3, mime_type: "text/plain" };
    return (await visitor.call("POST", "/uploads", body)).json<Upload>();
  };
  await sendPart((await begin()).urls[0], "abc");
  const begun = await begin();
  await env.DB.prepare("DELETE FROM sessions WHERE user_id = ?").bind(user_id).run();
  advance(10.001);
  expect(await refused(begun)).toEqual([403, expect.stringContaining("token or session")]);
});

test("part URLs of a suspended account are refused until it is restored", async () => {
  const { username, client } = await newUser();
  const begun = await beginUpload(client, 3);
  await operator.ok("PUT", suspension(username));
  expect(await refused(begun)).toEqual([403, expect.stringMatching(/^This account is suspended/)]);
  await operator.ok("DELETE", suspension(username));
  advance(10.001);
  await sendPart(begun.urls[0], "abc");
});

test("part URLs of a runner for a suspended account are refused", async () => {
  const world = await newWorld();
  const { runner, job } = await world.begun();
  const begun = await beginRunnerUpload(runner, job, 3);
  await operator.ok("PUT", suspension(world.username));
  expect(await refused(begun)).toEqual([403, expect.stringMatching(/^This account is suspended/)]);
});

test("part URLs of a deleted account are refused", async () => {
  const { client, user_id } = await newUser();
  const begun = await beginUpload(client, 3);
  await env.DB.prepare("UPDATE users SET deleted_at = 1 WHERE id = ?").bind(user_id).run();
  expect(await refused(begun)).toEqual([404, expect.any(String)]);
});

test("a token with only the scope read gets no part URLs", async () => {
  const { username, client } = await newUser();
  const { id } = await beginUpload(client, 3);
  const reading = await newClient(username, { scopes: ["read"] });
  const told = await reading.ok<Upload>("GET", `/v1/uploads/${id}`);
  expect([told.status, told.urls]).toEqual(["pending", []]);
});

test("part URLs are checked in D1 once in 10 s, not for each part", async () => {
  const { client } = await newUser();
  const { urls } = await beginUpload(client, 3);
  await sendPart(urls[0], "abc");
  const prepare = vi.spyOn(env.DB, "prepare");
  for (let n = 0; n < 5; n++) await sendPart(urls[0], "abc");
  const asked = prepare.mock.calls.map(([text]) => text.slice(0, 6).toLowerCase());
  expect(asked).toEqual(Array(5).fill("insert"));
});
