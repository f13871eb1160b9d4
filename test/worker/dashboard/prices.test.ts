/** Prices on the page of a version. */
import { expect, test } from "vitest";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { textOf } from "../support/page-text.ts";
import { Visitor } from "../support/visitor.ts";

async function newPage() {
  const person = await newDashboardUser();
  const model = await newModel(person.client, { visibility: "public" });
  const reference = referenceOf(model);
  await publish(person.client, reference);
  return { ...person, page: `/models/${reference}/versions/1` };
}

/** Returns the address of the operators' form. */
const forAll = (page: string) =>
  page.replace("/models/", "/fleet/prices/").replace("/versions/", "/");

const textAt = async (by: Visitor, page: string) => textOf((await by.look(page)).html);

test("an owner sets prices with a form, sees them, and ends them by empty fields", async () => {
  const { visitor, page } = await newPage();
  expect(await textAt(visitor, page)).toContain("Runs cost their time on the hardware.");
  await visitor.send(`${page}/prices`, { per_run: "0.05", per_million_input_tokens: " 0.25 " });
  const shown = await textAt(visitor, page);
  expect(shown).toContain("$0.05 per run, $0.25 per million input tokens");
  expect(shown).toContain("Set prices for your own account");
  expect(shown).not.toContain("Set prices for all accounts");
  await visitor.send(`${page}/prices`, { per_run: "" });
  expect(await textAt(visitor, page)).toMatch(/None .*\$0\.05 per run/);
});

test("prices that are no amounts are refused beside their field", async () => {
  const { visitor, page } = await newPage();
  const { html, status } = await visitor.send(`${page}/prices`, {
    ...{ set_by: "owner", per_run: "cheap" },
  });
  expect(status).toBe(422);
  expect(textOf(html)).toContain("An amount has at most 9 decimal places");
  expect(html).toContain('value="cheap"');
});

test("an operator sets prices for all accounts, which visitors see and the owner cannot change", async () => {
  const { visitor, page } = await newPage();
  const boss = await newOperator();
  await boss.visitor.look(page);
  await boss.visitor.send(forAll(page), { per_image: "2", from: "2100-01-01" });
  expect(await textAt(new Visitor(), page)).toMatch(/All accounts \$2\.00 per image/);
  expect(await textAt(new Visitor(), page)).not.toContain("Set prices");
  expect((await visitor.send(forAll(page), { per_image: "1" })).status).toBe(404);
});
