/** A change to SECRET_KEY=new,old: sessions go on, and sealed values are sealed with the new key. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { DecryptionFailed, keyPrefix } from "../../../src/domain/encryption.ts";
import { decryptVariables } from "../../../src/domain/models/variables.ts";
import { signingSecrets } from "../../../src/domain/webhooks/stored-secret.ts";
import { reEncrypt } from "../../../src/services/sweeps.ts";
import { findEndpoint } from "../../../src/storage/webhooks/endpoints.ts";
import { run, services } from "../support/accounts.ts";
import { newModel, referenceOf } from "../support/catalogue.ts";
import { addSecret, newEndpoint } from "../support/endpoints.ts";
import { captureLog } from "../support/log.ts";
import { setVariable } from "../support/variables.ts";
import { PASSWORD, signedUp, Visitor } from "../support/visitor.ts";
import { newUser } from "../support/world.ts";

const { settings } = services;
const OLD = settings.secretKeys;
const NEW = "another-secret-key-for-tests-of-32-chars";

afterEach(() => {
  settings.secretKeys = OLD;
  vi.restoreAllMocks();
});

const turn = () => {
  settings.secretKeys = [NEW, ...OLD];
};

let origins = 0;

/** Returns the same browser at a new isolate, which has begun with the current keys. */
function afterwards({ cookies, formToken }: Visitor): Visitor {
  const visitor = new Visitor(`https://${origins++}.auspex.test`);
  for (const [name, value] of cookies) visitor.cookies.set(name, value);
  visitor.formToken = formToken;
  return visitor;
}

const isIn = async (visitor: Visitor) => (await visitor.look("/account/security")).status === 200;

describe("a session", () => {
  test("a session goes on with a new signature of its cookie, and is valid without the old key", async () => {
    const { visitor: before } = await signedUp();
    turn();
    const visitor = afterwards(before);
    expect(await isIn(visitor)).toBe(true);
    const name = "__Host-auspex.session_token";
    expect(visitor.cookies.get(name)).not.toBe(before.cookies.get(name));
    settings.secretKeys = [NEW];
    expect(await isIn(afterwards(visitor))).toBe(true);
    expect(await isIn(afterwards(before))).toBe(false);
  });

  test("a session can send an earlier form, change the password and log out", async () => {
    const [{ visitor: before }, { visitor: leaving }] = [await signedUp(), await signedUp()];
    turn();
    const named = await afterwards(before).send("/account", { username: "", name: "Ann" });
    // 422 means that the form token was accepted, and only the username is wrong.
    expect(named.status).toBe(422);
    const fields = { current: PASSWORD, password: "another long password" };
    const changed = await afterwards(before).send("/account/security/password", fields);
    expect(changed.location).toBe("/account/security");
    await afterwards(leaving).send("/sign-out");
    expect(await isIn(afterwards(leaving))).toBe(false);
  });

  test("a session with a wrong signature or that of an unknown key is refused", async () => {
    const { visitor } = await signedUp();
    settings.secretKeys = [NEW, "a-third-secret-key-for-tests-of-32-chars"];
    expect(await isIn(afterwards(visitor))).toBe(false);
    turn();
    for (const [name, value] of visitor.cookies) visitor.cookies.set(name, value.slice(0, -8));
    expect(await isIn(afterwards(visitor))).toBe(false);
  });
});

describe("the sweep", () => {
  const sealedOf = async (modelId: string) => {
    const [row] = await run("SELECT sealed FROM model_variables WHERE model_id = ?", modelId);
    return String(row?.sealed);
  };

  test("the sweep seals variables and secrets with the new key", async () => {
    const { client } = await newUser();
    const model = await newModel(client);
    await setVariable(client, referenceOf(model), "HF_TOKEN", "hf_x");
    const { id, secret } = await newEndpoint(client);
    const second = await addSecret(client, id);
    turn();
    await reEncrypt(services);
    const modelId = String((await run("SELECT id FROM models WHERE name = ?", model.name))[0]?.id);
    const sealed = await sealedOf(modelId);
    expect(sealed.startsWith(await keyPrefix("variables", NEW))).toBe(true);
    expect(await decryptVariables([NEW], modelId, { HF_TOKEN: sealed })).toEqual({
      HF_TOKEN: "hf_x",
    });
    const endpoint = (await findEndpoint(services.db, id)) ?? expect.fail("no endpoint");
    expect(await signingSecrets([NEW], endpoint)).toEqual([secret, second.secret]);
    await expect(signingSecrets(OLD, endpoint)).rejects.toThrow(DecryptionFailed);
  });

  test("the sweep leaves a sealed value that no key decrypts", async () => {
    const { client } = await newUser();
    const model = await newModel(client);
    await setVariable(client, referenceOf(model), "HF_TOKEN", "hf_x");
    const modelId = String((await run("SELECT id FROM models WHERE name = ?", model.name))[0]?.id);
    const broken = `${(await sealedOf(modelId)).slice(0, -4)}AAAA`;
    await run("UPDATE model_variables SET sealed = ? WHERE model_id = ?", broken, modelId);
    turn();
    const log = captureLog("error");
    await reEncrypt(services);
    expect(await sealedOf(modelId)).toBe(broken);
    expect(log.entries()).toContainEqual({
      level: "error",
      message: "Re-encryption failed",
      error: expect.any(String),
    });
    expect(JSON.stringify(log.mock.calls)).not.toContain(broken);
    await run("DELETE FROM model_variables WHERE model_id = ?", modelId);
  });

  test("the sweep sends no statements while there is one key", async () => {
    const prepare = vi.spyOn(env.DB, "prepare");
    await reEncrypt(services);
    expect(prepare).not.toHaveBeenCalled();
  });
});
