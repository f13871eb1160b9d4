/** An access token's life: made, shown once, used by programs, revoked, refused. */
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { Client } from "../../src/dev/client.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

/** The time after which a revoked token is refused everywhere, ms. */
const REVOKED_WITHIN = 10_000;

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("one");
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a token is made, shown once and copied, calls the API, and is refused once it is revoked", async () => {
  const visitor = await site.visitor({ as: "tara" });
  const { page } = visitor;
  await visitor.open("/tokens");
  await page.getByText("No tokens yet").waitFor();
  const token = await makeToken(visitor, "A notebook");
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token);
  // The token is on no other page, and not on this one again.
  await visitor.open("/tokens");
  expect(await page.content()).not.toContain(token);

  const client = new Client(site.url, token);
  const run = { model: `${OPERATOR}/hello`, input: { name: "Grace" } };
  const call = { body: run, headers: { prefer: "wait" } };
  const answer = await client.call(predictionWithIO, "POST", "/predictions", call);
  expect(answer).toMatchObject({ status: "succeeded", output: "Hello, Grace!" });

  const openai = new OpenAI({ baseURL: `${site.url}/v1/vendora`, apiKey: token, maxRetries: 0 });
  const chat = () =>
    openai.chat.completions.create({
      model: `${OPERATOR}/chat`,
      messages: [{ role: "user", content: "Who is the Mad Hatter?" }],
    });
  expect((await chat()).choices[0]?.message.content).toMatch(/\w+/);

  await visitor.open("/tokens");
  const row = page.getByRole("row", { name: "A notebook" });
  expect(await row.getByText("never").count()).toBe(0);
  page.once("dialog", (dialog) => dialog.accept());
  await row.getByRole("button", { name: "Revoke A notebook" }).click();
  await page.getByText("Token revoked.").waitFor();
  await visitor.look();
  const refused = async () => expect((await client.fetch("GET", "/predictions")).status).toBe(401);
  await vi.waitFor(refused, { timeout: REVOKED_WITHIN, interval: 100 });
  await expect(chat()).rejects.toThrow(OpenAI.AuthenticationError);
  await page.getByText("No tokens yet").waitFor();
});

it("a token for some models runs those, and says which when it is asked for another", async () => {
  const visitor = await site.visitor({ as: "tara" });
  const { page } = visitor;
  await visitor.open("/tokens");
  await openForm(visitor);
  await page.getByLabel("Only specific models").check();
  await page.getByLabel("Selected models").fill(`${OPERATOR}/hello`);
  const client = new Client(site.url, await makeToken(visitor, "Hello alone"));
  const create = (model: string) =>
    client.fetch("POST", "/predictions", { body: { model: `${OPERATOR}/${model}`, input: {} } });
  expect((await create("hello")).status).toBe(202);
  const other = await create("text-generation");
  expect(other.status).toBe(403);
  expect(await other.text()).toContain(`${OPERATOR}/hello`);
});

it("an error in a token is shown at its field, and the typed values are kept", async () => {
  const visitor = await site.visitor({ as: "theo" });
  const { page } = visitor;
  await visitor.open("/tokens");
  await page.getByLabel("Name", { exact: true }).fill("For a model that is none");
  await page.getByLabel("Only specific models").check();
  await page.getByLabel("Selected models").fill("theo/nothing");
  visitor.expects(422, "/tokens");
  await page.getByRole("button", { name: "Create token" }).click();
  await page
    .getByRole("textbox", { name: "Selected models" })
    .and(page.locator("[aria-invalid]"))
    .waitFor();
  await visitor.look();
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe(
    "For a model that is none",
  );
});

/** Opens the form, which is folded if there are tokens already. */
async function openForm({ page }: Visitor): Promise<void> {
  if (!(await page.getByLabel("Name", { exact: true }).isVisible()))
    await page.getByText("New token").click();
}

/** Makes a token. @returns the token, as the page that follows shows it */
async function makeToken(visitor: Visitor, name: string): Promise<string> {
  const { page } = visitor;
  await openForm(visitor);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByRole("heading", { name: `Your new token: ${name}` }).waitFor();
  await visitor.look();
  return page.getByText(/^aus_\w+$/).innerText();
}
