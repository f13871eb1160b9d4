/** How many bytes of files an account may have, and what all accounts may take of the database. */
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
  postUpload,
  rowOfUpload,
  sendPart,
  storeInParts,
  uploaded,
  uploadRow,
} from "../support/files.ts";
import { newUser, newWorld, unique } from "../support/world.ts";

const limits = settings(env);
const { fileBytes, databaseBytes } = limits;
afterEach(() => {
  Object.assign(limits, { fileBytes, databaseBytes });
});

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

test("an account that would have more bytes than it may is told what to delete, and no other is", async () => {
  limits.fileBytes = 1_000;
  const { client } = await newUser();
  const first = await beginUpload(client, 600);
  const more = { size: 500, mime_type: "text/plain" };
  const refused = await client.refused("/v1/uploads", more);
  expect(refused.status).toBe(409);
  expect(refused.body.detail).toMatch(/600 bytes of 1 kB.*Delete uploads.*FILES_GB/);
  await beginUpload((await newUser()).client, 500);
  await client.ok("DELETE", `/v1/uploads/${first.id}`);
  await beginUpload(client, 500);
});

test("large outputs count until their prediction is deleted, and fail a run that has no room for them", async () => {
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

test("an output that was uploaded in part ends with its run", async () => {
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

test("a database that all accounts have filled takes nothing more, and operators are warned before", async () => {
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
  expect(refused.body.detail).toMatch(/database of this deployment is full.*Delete models/);
  await client.ok("PATCH", pathOf(model), { overview: "" });
});
