/** The sweeps of every minute, while each of their platform calls fails in turn. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { decryptVariables } from "../../../src/domain/models/variables.ts";
import { signingSecrets } from "../../../src/domain/webhooks/stored-secret.ts";
import { runnerAt } from "../../../src/objects/stubs/runner.ts";
import type { AuditEvent } from "../../../src/protocol/audit.ts";
import type { Model } from "../../../src/protocol/model.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { SWEEPS } from "../../../src/services/sweeps.ts";
import { closeAccount } from "../../../src/storage/accounts/account-removal.ts";
import { findEndpoint } from "../../../src/storage/webhooks/endpoints.ts";
import { run, services } from "../support/accounts.ts";
import { anEntry } from "../support/audit.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { beginUpload, keysBelow, rowOfUpload, uploaded, uploadRow } from "../support/files.ts";
import { countRows, keepUp } from "../support/objects.ts";
import { atEachCall, expectFailures, LONG } from "../support/one-at-a-time.ts";
import { deliver } from "../support/queues.ts";
import { newRepository, randomBytes } from "../support/registry.ts";
import { advance } from "../support/time.ts";
import { NO_COUNTS } from "../support/usage.ts";
import { setVariable } from "../support/variables.ts";
import { newUser, newWorld, operator, unique } from "../support/world.ts";

/** Makes the work of a sweep. @returns a check that throws until the work is done */
type Sweep = () => Promise<() => Promise<void>>;

const DAY = 86_400;
const { db, settings } = services;

const NEW_KEY = "a-new-secret-key-for-tests-of-32-characters";
const OLD_KEYS = settings.secretKeys;

/** Restores the keys, because test files share the settings. */
const withOldKeys = () => {
  settings.secretKeys = OLD_KEYS;
};

/**
 * Sweeps by name. Backups are left out, because test/worker/backups/interruptions.nightly.test.ts lets each of their
 * calls fail and counts rows, and those of deployments because they need a runner: test/worker/deployments/starts.test.ts.
 * The sweep of the database's space only reads, and that of alerts works every second minute.
 */
const SWEPT: Record<
  Exclude<keyof typeof SWEEPS, "alerts" | "backups" | "database_space" | "deployments">,
  Sweep
> = {
  async listings() {
    const { user_id, client, model } = await newWorld({ visibility: "public" });
    const { id: model_id } = await client.ok<Model>("GET", `/v1/models/${model}`);
    await deliver("counts", { user_id, model_id, predictions: 3 });
    return async () => {
      const rows = await run(
        "SELECT DISTINCT predictions_count FROM listings WHERE model_id = ?",
        model_id,
      );
      expect(rows).toEqual([{ predictions_count: 3 }]);
    };
  },
  async usage() {
    const { user_id } = await newUser();
    const told = { user_id, ...NO_COUNTS, predictions: 1, told_at: 1 };
    await deliver("counts", { ...told, day: "2020-01-01" });
    return async () => {
      const rows = await run("SELECT day FROM account_usage WHERE user_id = ?", user_id);
      expect(rows).toEqual([]);
    };
  },
  /** An upload that was never completed, and a file that expired. */
  async uploads() {
    const { client, user_id } = await newUser();
    const pending = await rowOfUpload((await beginUpload(client, 3)).id);
    const { id } = await uploaded(client);
    await run("UPDATE uploads SET expires_at = ? WHERE user_id = ?", Date.now() - 1, user_id);
    return async () => {
      expect([await uploadRow(pending.id), await uploadRow(id)]).toEqual([null, null]);
      expect(await keysBelow(id)).toEqual([]);
    };
  },
  /** An upload that stopped, and a layer that no manifest names. */
  async registry() {
    const repository = await newRepository();
    await repository.patch(await repository.begin(), randomBytes(10));
    await repository.push(randomBytes(10));
    const { id } = await repository.client.ok<Model>("GET", `/v1/models/${repository.name}`);
    advance(8 * DAY);
    return async () => {
      for (const table of ["registry_uploads", "registry_links"])
        expect(await run(`SELECT * FROM ${table} WHERE model_id = ?`, id)).toEqual([]);
      expect(await run("SELECT key FROM registry_garbage")).toEqual([]);
    };
  },
  async accounts() {
    const world = await newWorld();
    await world.waiting();
    await closeAccount(db, world.user_id, Date.now(), { deleted: anEntry(), left: anEntry() });
    advance(3 * DAY);
    return async () => {
      await keepUp(world.user_id);
      expect(await countRows(world.user_id)).toBe(0);
      const users = await run("SELECT username FROM users WHERE id = ?", world.user_id);
      expect(users).toEqual([{ username: expect.stringMatching(/^gone/) }]);
    };
  },
  async sessions() {
    const id = unique("session");
    const over = Date.now() - 1;
    await run(
      "INSERT INTO verifications (id, identifier, value, expires_at, created_at, updated_at) VALUES (?, '', '', ?, 0, 0)",
      id,
      over,
    );
    await run("INSERT INTO sign_up_attempts VALUES ('2020-01-01', ?, 1)", id);
    return async () => {
      expect(await run("SELECT id FROM verifications WHERE id = ?", id)).toEqual([]);
      expect(await run("SELECT day FROM sign_up_attempts WHERE day = '2020-01-01'")).toEqual([]);
    };
  },
  async shares() {
    const { user_id } = await newUser();
    const id = unique("share");
    await run(
      "INSERT INTO shares (id, user_id, prediction_id, hash, created_at, expires_at) VALUES (?, ?, '', ?, 0, ?)",
      id,
      user_id,
      unique("hash"),
      Date.now() - 1,
    );
    return async () => {
      expect(await run("SELECT id FROM shares WHERE id = ?", id)).toEqual([]);
    };
  },
  /** The suspended user's prediction was created by an isolate that did not know of the suspension yet. */
  async suspended() {
    const { user_id, username, waiting } = await newWorld();
    const id = await waiting();
    await run("UPDATE users SET suspended_at = ? WHERE id = ?", Date.now(), user_id);
    return async () => {
      const path = `/v1/operator/users/${username}/predictions/${id}`;
      expect(await operator.ok("GET", path)).toMatchObject({ status: "canceled" });
    };
  },
  async examples() {
    const id = crypto.randomUUID();
    await env.FILES.put(`${id}/0-out.txt`, "out");
    await run("INSERT INTO examples VALUES (?, 'gone', 1, '', 1, '{}', 'null', NULL, 0, 0)", id);
    return async () => {
      expect(await env.FILES.head(`${id}/0-out.txt`)).toBeNull();
      expect(await run("SELECT id FROM examples WHERE id = ?", id)).toEqual([]);
    };
  },
  /** A runner whose token was revoked a day ago. */
  async revoked_runners() {
    const { runner } = await newWorld();
    const { id } = await runner();
    const [token] = await run("SELECT token_id FROM runners WHERE id = ?", id);
    await operator.ok("DELETE", `/v1/operator/runner_tokens/${token?.token_id}`);
    advance(DAY + 1);
    return async () => {
      expect(await run("SELECT id FROM runners WHERE id = ?", id)).toEqual([]);
      const tokens = await run("SELECT id FROM runner_tokens WHERE id = ?", token?.token_id);
      expect(tokens).toEqual([]);
      expect(await runnerAt(env, id).getPresence()).toBeNull();
    };
  },
  /** An entry that a change has just written. */
  async audit() {
    const { client, user_id } = await newUser();
    await client.ok("POST", "/v1/models", { name: "poet" });
    return async () => {
      const rows = await run("SELECT id FROM audit_entries WHERE account_id = ?", user_id);
      expect(rows).toEqual([]);
      const { items } = await client.ok<Page<AuditEvent>>("GET", "/v1/audit_events");
      expect(items.map(({ action, sequence }) => [action, sequence])).toContainEqual([
        "model.created",
        expect.any(Number),
      ]);
      expect(await client.ok("GET", "/v1/audit_events/verify")).toMatchObject({ valid: true });
    };
  },
  async pools() {
    const hardware = unique("hw");
    await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: "Box" });
    await run("UPDATE pools SET location_hint = 'oc' WHERE name = ?", hardware);
    return async () => {
      const rows = await run("SELECT made_at FROM pools WHERE name = ?", hardware);
      expect(rows).not.toEqual([{ made_at: null }]);
    };
  },
  async encryption() {
    settings.secretKeys = OLD_KEYS;
    const { client, model } = await newWorld();
    const { id: model_id } = await client.ok<Model>("GET", `/v1/models/${model}`);
    await setVariable(client, model, "HF_TOKEN", "hf_x");
    const { id, secret } = await newEndpoint(client);
    settings.secretKeys = [NEW_KEY, ...OLD_KEYS];
    return async () => {
      const [row] = await run("SELECT sealed FROM model_variables WHERE model_id = ?", model_id);
      const opened = await decryptVariables([NEW_KEY], model_id, { HF_TOKEN: String(row?.sealed) });
      expect(opened).toEqual({ HF_TOKEN: "hf_x" });
      const endpoint = (await findEndpoint(db, id)) ?? expect.fail("no endpoint");
      expect(await signingSecrets([NEW_KEY], endpoint)).toEqual([secret]);
    };
  },
};

expectFailures();
afterEach(withOldKeys);

test.each(Object.entries(SWEPT))(
  "the sweep %s completes although each of its calls fails in turn",
  LONG,
  async (name, make) => {
    const sweep =
      Object.entries(SWEEPS).find(([one]) => one === name)?.[1] ?? expect.fail("no sweep");
    const calls = await atEachCall({
      prepare: make,
      act: () => sweep(services, Date.now()),
      repeat: () => sweep(services, Date.now()),
      check: (isDone) => isDone(),
    });
    expect(calls).not.toEqual([]);
  },
);
