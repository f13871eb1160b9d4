/** Sweeps of many uploads. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { beginUpload, keysBelow, uploaded, uploadRow } from "../support/files.ts";
import { sweep } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const DAY = 86_400;

describe("the sweep", () => {
  const swept = async (id: string) => {
    await sweep();
    return (await uploadRow(id)) === null;
  };

  const left = (userId: string) =>
    env.DB.prepare("SELECT count(*) AS n FROM uploads WHERE user_id = ?")
      .bind(userId)
      .first<number>("n");

  const deleteAll = (userId: string) =>
    env.DB.prepare("DELETE FROM uploads WHERE user_id = ?").bind(userId).run();

  /** Copies an upload of an account `times` times, oldest first. */
  const multiply = (id: string, times: number) =>
    env.DB.prepare(
      `INSERT INTO uploads (id, user_id, key, multipart_id, size, mime_type, part_size, created_at, completed_at, expires_at)
       SELECT uploads.id || value, user_id, uploads.key || value, multipart_id, size, mime_type, part_size, created_at, completed_at, expires_at - value
       FROM uploads, json_each(?) WHERE uploads.id = ?`,
    )
      .bind(JSON.stringify([...Array(times).keys()]), id)
      .run();

  test("the sweep removes 60 uploads in one run", async () => {
    const { user_id, client: many } = await newUser();
    await Promise.all(Array.from({ length: 60 }, () => beginUpload(many, 1)));
    advance(2 * DAY);
    await sweep();
    expect(await left(user_id)).toBe(0);
  });

  test("the sweep removes an account's upload although another account has 5,000 older ones", async () => {
    const [many, few] = [await newUser(), await newUser()];
    const { id } = await uploaded(many.client);
    await multiply(id, 5_000);
    advance(1);
    const one = await uploaded(few.client);
    advance(31 * DAY);
    expect(await swept(one.id)).toBe(true);
    expect(await keysBelow(one.id)).toEqual([]);
    // The sweep has a bound, and the next one goes on from there.
    const rest = (await left(many.user_id)) ?? 0;
    expect(rest).toBeGreaterThan(0);
    await sweep();
    expect((await left(many.user_id)) ?? 0).toBeLessThan(rest);
    await deleteAll(many.user_id);
  });

  test("the sweep is not blocked by 300 uploads that R2 refuses, and tries them again after an hour", async () => {
    const [many, few] = [await newUser(), await newUser()];
    const { id } = await beginUpload(many.client, 1);
    await env.DB.prepare("UPDATE uploads SET multipart_id = 'not one of R2' WHERE id = ?")
      .bind(id)
      .run();
    await multiply(id, 300);
    const [theirs, own] = [await beginUpload(few.client, 1), await beginUpload(many.client, 1)];
    advance(DAY + 1);
    expect([await swept(theirs.id), await uploadRow(own.id)]).toEqual([true, null]);
    const refused = vi.spyOn(env.FILES, "resumeMultipartUpload");
    await sweep();
    expect(refused).not.toHaveBeenCalled();
    advance(3_600);
    await sweep();
    expect(refused).toHaveBeenCalledTimes(301);
    await deleteAll(many.user_id);
  });
});
