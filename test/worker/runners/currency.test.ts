/** The currency of prices (`CURRENCY`). */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { settings } from "../../../src/env.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { hardware } from "../../../src/protocol/hardware.ts";
import worker from "../../../src/worker.ts";
import { ORIGIN } from "../support/client.ts";

const among = (CURRENCY: string) => Object.assign({}, env, { CURRENCY });

test("every hardware class has the currency that the operator has set", async () => {
  const request = new Request(`${ORIGIN}/v1/hardware`);
  const answer = await worker.fetch(request, among("EUR"), createExecutionContext());
  const { items } = pageOf(hardware).parse(await answer.json());
  expect(new Set(items.map(({ currency }) => currency))).toEqual(new Set(["EUR"]));
});

test.each(["", "EURO", "eur", "ZZZ"])("the currency cannot be %j", (code) => {
  expect(() => settings(among(code))).toThrow("a code of ISO 4217, such as EUR");
});
