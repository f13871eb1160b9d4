/** The limits of an account's bytes of files, and of the database for all accounts. */
import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { settings } from "../../../src/env.ts";
import type { UserUsage } from "../../../src/protocol/user.ts";
import { newModel, pathOf } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import {
  beginRunnerUpload,
  beginUpload,
  isUnderWay,
  MIB,
  postFile,
  postUpload,
  postValue,
  rowOfUpload,
  sendPart,
  storeFile,
  storeInParts,
  storeValue,
  uploaded,
  uploadRow,
} from "../support/files.ts";
import { newUser, newWorld, unique } from "../support/world.ts";

const limits = settings(env);
const { fileBytes, databaseBytes } = limits;
afterEach(() => {
  Object.assign(limits, { fileBytes, databaseBytes });
});

const upload = (size: number) => ({ size, mime_type: "text/plain" });

const filesOf = async (client: Client) =>
  (await client.ok<UserUsage>("GET", "/v1/user/usage")).files;

test("an upload counts with the size that it declares, until it is deleted", async () => {
  const { client } = await newUser();
  const pending = await beginUpload(client, 5_000_000);
  const completed = await uploaded(client, "content");
  expect(await filesOf(client)).toEqual({ bytes: 5_000_007, max_bytes: fileBytes });
  await client.ok("DELETE", `/v1/uploads/${pending.id}`);
  expect((await filesOf(client)).bytes).toBe(7);
  await client.ok("DELETE", `/v1/uploads/${completed.id}`);
  expect((await filesOf(client)).bytes).toBe(0);
});

test("an account that would exceed FILES_GB is refused with advice, and no other account is", async () => {
  limits.fileBytes = 1_000;
  const { client } = await newUser();
  const first = await beginUpload(client, 600);
  const more = { size: 500, mime_type: "text/plain" };
  const refused = await client.refused("/v1/uploads", more);
  expect(refused.status).toBe(409);
  expect(refused.body.detail).toMatch(/600 bytes of 1 kB.*Delete unused uploads.*FILES_GB/);
  await beginUpload((await newUser()).client, 500);
  await client.ok("DELETE", `/v1/uploads/${first.id}`);
  await beginUpload(client, 500);
});

test("large outputs count until their prediction is deleted, and are refused without room", async () => {
  const world = await newWorld();
  const { id, runner, job, channel } = await world.begun();
  const url = await storeInParts(runner, job, new Uint8Array(1_000));
  expect((await filesOf(world.client)).bytes).toBe(1_000);
  limits.fileBytes = 1_500;
  const facts = { size: 501, mime_type: "video/mp4" };
  expect((await postUpload(runner, job, "", facts)).status).toBe(413);
  await channel.succeed(url);
  expect((await filesOf(world.client)).bytes).toBe(1_000);
  await world.client.ok("DELETE", `/v1/predictions/${id}`);
  expect((await filesOf(world.client)).bytes).toBe(0);
});

test("the first file of an account is refused if it alone exceeds FILES_GB", async () => {
  const { runner, job } = await (await newWorld()).begun();
  limits.fileBytes = 10;
  expect((await postValue(runner, job, '"more than ten bytes"')).status).toBe(413);
});

test("files and values that a run stores in one request count until its data is removed", async () => {
  const world = await newWorld();
  const { id, runner, job, channel } = await world.begun();
  const url = await storeFile(runner, job, new Uint8Array(900));
  const value = await storeValue(runner, job, "x".repeat(98));
  expect((await filesOf(world.client)).bytes).toBe(1_000);
  limits.fileBytes = 1_500;
  const refused = await postFile(runner, job, new Uint8Array(501));
  expect(refused.status).toBe(413);
  expect(await refused.text()).toContain("FILES_GB");
  expect((await postValue(runner, job, JSON.stringify("x".repeat(500)))).status).toBe(413);
  expect((await world.client.refused("/v1/uploads", upload(501))).status).toBe(409);
  await beginUpload(world.client, 500);
  expect((await postFile(runner, job, new Uint8Array(1))).status).toBe(413);
  await channel.report([value]);
  await channel.succeed(url);
  await world.client.ok("DELETE", `/v1/predictions/${id}`);
  expect((await filesOf(world.client)).bytes).toBe(500);
});

test("a value that is refused as JSON does not count", async () => {
  const world = await newWorld();
  const { runner, job } = await world.begun();
  expect((await postValue(runner, job, '"never ends')).status).toBe(400);
  expect((await filesOf(world.client)).bytes).toBe(0);
});

test("deleting an upload makes room for a run at once", async () => {
  const world = await newWorld();
  const { runner, job } = await world.begun();
  await storeFile(runner, job, new Uint8Array(1));
  limits.fileBytes = 1_000;
  const { id } = await beginUpload(world.client, 999);
  expect((await postFile(runner, job, new Uint8Array(1))).status).toBe(413);
  await world.client.ok("DELETE", `/v1/uploads/${id}`);
  expect((await postFile(runner, job, new Uint8Array(1))).status).toBe(200);
});

test("a large input and its data URIs count until the prediction is deleted, and need room", async () => {
  const world = await newWorld();
  const picture = `data:image/png;base64,${new Uint8Array(200_000).toBase64()}`;
  const input = { picture, text: "x".repeat(1_100_000) };
  const id = await world.waiting(input);
  const { bytes } = await filesOf(world.client);
  expect(bytes).toBeGreaterThan(1_300_000);
  expect(bytes).toBeLessThan(1_301_000);
  limits.fileBytes = 1_500_000;
  const refused = await world.client.refused("/v1/predictions", { model: world.model, input });
  expect(refused.status).toBe(409);
  expect((await filesOf(world.client)).bytes).toBe(bytes);
  await world.client.cancel(id);
  await world.client.ok("DELETE", `/v1/predictions/${id}`);
  expect((await filesOf(world.client)).bytes).toBe(0);
});

test("an output that was uploaded in part is removed at the end of its run", async () => {
  const world = await newWorld();
  const { runner, job, channel } = await world.begun();
  const begun = await beginRunnerUpload(runner, job, 20 * MIB);
  const { key, multipart_id } = await rowOfUpload(begun.id);
  await sendPart(begun.urls[0], new Uint8Array(begun.part_size));
  expect(await isUnderWay(key, multipart_id)).toBe(true);
  await channel.succeed("done");
  await eventually(async () => {
    expect(await isUnderWay(key, multipart_id)).toBe(false);
    expect(await uploadRow(begun.id)).toBeNull();
  });
  expect((await filesOf(world.client)).bytes).toBe(0);
});

test("a full database takes no new rows, and operators are warned before it is full", async () => {
  const { client } = await newUser();
  const model = await newModel(client, { overview: "x".repeat(10_000) });
  const { visitor } = await newOperator();
  const total = await env.DB.prepare(
    "SELECT bytes FROM account_bytes WHERE user_id = ''",
  ).first<number>("bytes");
  const sum = "SELECT sum(bytes) AS bytes FROM account_bytes WHERE user_id <> ''";
  expect(total).toBe(await env.DB.prepare(sum).first<number>("bytes"));
  expect((await visitor.look("/fleet")).html).not.toContain("DATABASE_GB");
  limits.databaseBytes = (total ?? 0) * 1.2;
  expect((await visitor.look("/fleet")).html).toContain("DATABASE_GB");
  limits.databaseBytes = (total ?? 0) - 1;
  const refused = await client.refused("/v1/models", { name: unique("model") });
  expect(refused.status).toBe(503);
  expect(refused.body.detail).toMatch(/database of this deployment is full.*Delete unused models/);
  await client.ok("PATCH", pathOf(model), { overview: "" });
});
