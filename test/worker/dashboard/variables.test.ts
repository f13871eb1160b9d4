/** The page of a model's variables, without client code. */
import { beforeEach, describe, expect, it } from "vitest";
import { newModel, publish } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { listVariables, setVariable } from "../support/variables.ts";
import { signedUp, type Visitor } from "../support/visitor.ts";
import { newClient } from "../support/world.ts";

const SECRET = "hunter2-is-the-value";

let visitor: Visitor;
let client: Client;
let model: string;
let page: string;

beforeEach(async () => {
  const person = await signedUp();
  visitor = person.visitor;
  client = await newClient(person.username);
  const { name } = await newModel(client);
  model = `${person.username}/${name}`;
  page = `/models/${model}/variables`;
});

/** Returns the rows of the table, as text. */
const rowsIn = (html: string) =>
  [...html.matchAll(/<tr>(<th scope="row">.*?)<\/tr>/gs)].map(([, row = ""]) =>
    row
      .replace(/<(form|a)\b.*?<\/\1>/gs, "")
      .replace(/<[^>]+>/g, " ")
      .trim()
      .split(/\s{2,}/),
  );

const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC$/;

describe("the page of variables", () => {
  it("the page shows which variables are set, and which the latest version names", async () => {
    await setVariable(client, model, "OLD_KEY");
    expect(rowsIn((await visitor.look(page)).html)).toEqual([
      ["OLD_KEY", expect.stringMatching(TIME), "no version"],
    ]);
    await setVariable(client, model, "HF_TOKEN");
    await publish(client, model, { configuration: { variable_names: ["OLD_KEY"] } });
    const configuration = { variable_names: ["HF_TOKEN", "API_KEY"] };
    await publish(client, model, { configuration });
    const { html } = await visitor.look(page);
    expect(rowsIn(html)).toEqual([
      ["API_KEY", "not set", "listed, but not set"],
      ["HF_TOKEN", expect.stringMatching(TIME), "listed"],
      ["OLD_KEY", expect.stringMatching(TIME), "not listed"],
    ]);
    expect(html).toContain("Version 2");
    // A variable that is not set cannot be deleted.
    expect(html.match(/variables\/\w+\/delete"/g)).toHaveLength(2);
  });

  it("the page fills in the chosen name, and nothing else of the address", async () => {
    expect((await visitor.look(`${page}?name=API_KEY`)).html).toContain('value="API_KEY"');
    expect((await visitor.look(`${page}?name=%22%3E%3Cb%3E`)).html).not.toContain("<b>");
  });
});

describe("the form of a variable", () => {
  it("the form sets a variable, whose value no page shows", async () => {
    const sent = await visitor.send(page, { variable_name: " HF_TOKEN ", value: SECRET });
    expect([sent.status, sent.location]).toEqual([303, page]);
    const { html } = await visitor.look(page);
    expect(html).toContain("HF_TOKEN saved.");
    expect(rowsIn(html)).toEqual([["HF_TOKEN", expect.stringMatching(TIME), expect.any(String)]]);
    expect(html).not.toContain(SECRET);
    expect(JSON.stringify([...sent.headers])).not.toContain(SECRET);
  });

  it.each<[Record<string, string>, string]>([
    [{ variable_name: "hf_token", value: SECRET }, "upper-case letters, digits"],
    [{ variable_name: "PORT", value: SECRET }, "this name is reserved for the runner"],
    [{ variable_name: "LD_PRELOAD", value: SECRET }, "set it in the image"],
    [{ variable_name: "", value: SECRET }, "upper-case letters, digits"],
    [{ variable_name: "HF_TOKEN", value: "" }, "at least 1 character"],
    [{ variable_name: "HF_TOKEN", value: `${SECRET}\0` }, "without NUL characters"],
    [{ variable_name: "HF_TOKEN", value: SECRET.padEnd(32_769, "x") }, "at most 32768 characters"],
    [{}, "upper-case letters, digits"],
  ])(
    "a refused form shows the error and the name, without the value: %#",
    async (fields, words) => {
      const { status, html } = await visitor.send(page, fields);
      expect(status).toBe(422);
      expect(html).toContain(words);
      expect(html).toMatch(/class="(field-error|problem)"/);
      if (fields.variable_name) expect(html).toContain(`value="${fields.variable_name}"`);
      expect(html).not.toContain("hunter2");
      expect(await listVariables(client, model)).toEqual([]);
    },
  );
});

it("a deletion removes a variable, and the page shows it", async () => {
  await setVariable(client, model, "HF_TOKEN");
  await visitor.look(page);
  const sent = await visitor.send(`${page}/HF_TOKEN/delete`);
  expect([sent.status, sent.location]).toEqual([303, page]);
  expect((await visitor.look(page)).html).toContain("HF_TOKEN deleted.");
  expect(await listVariables(client, model)).toEqual([]);
});
