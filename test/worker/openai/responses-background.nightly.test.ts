/** Large responses in the background. */
import { afterEach, describe, expect, test } from "vitest";
import { OpenRequest } from "../../../src/domain/accounts/open-requests.ts";
import { pause } from "../support/eventually.ts";
import { answer, newOpenAi } from "../support/openai.ts";
import { PATH, resource } from "../support/openai-responses.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

afterEach(startClock);

describe("a response in the background", () => {
  test("a large response is read by one request of an account at a time; others wait for 10 s", async () => {
    stopClock();
    const { client, model, fleet, user_id } = await newOpenAi();
    const body = { model, input: "Go on", background: true };
    const { id } = await resource(client.post(PATH, body), 202);
    await answer(fleet, "on ".repeat(50_000));
    const read = async () => (await client.fetch(`${PATH}/${id}`)).status;
    const other = OpenRequest.enter(`whole reads of ${user_id}`, 1);
    const [patient, late] = [read(), read()];
    await pause(200);
    advance(10);
    expect([await patient, await late]).toEqual([429, 429]);
    const next = [read(), read()];
    await pause(200);
    other?.leave();
    expect(await Promise.all(next)).toEqual([200, 200]);
  });
});
