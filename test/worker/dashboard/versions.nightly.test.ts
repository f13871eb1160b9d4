/** More of the pages of versions: their components, streams, containers and egress. */
import { describe, expect, it } from "vitest";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { INPUT, issueOf, NEW_VERSION, owner } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { Visitor } from "../support/visitor.ts";

describe("a version", () => {
  it("a version streams its output where that is ticked: browsers send the field in any case", async () => {
    const { visitor, path } = await owner();
    const published = async (fields: Record<string, string | string[]>) => {
      const { location } = await visitor.send(`${path}/versions/new`, {
        ...NEW_VERSION,
        ...fields,
      });
      return textOf((await visitor.look(location ?? "")).html);
    };
    expect(await published({})).toContain("Returns its output when the run ends.");
    expect(await published({ stream_output: ["", "true"] })).toContain("Streams its output.");
  });

  it("a version is published with components that its schemas refer to", async () => {
    const { visitor, path } = await owner();
    const input = JSON.stringify({ $ref: "#/components/schemas/Input" });
    const components = JSON.stringify({ schemas: { Input: INPUT.components.schemas.Size } });
    const wrong = '{"schemas": {"Input": {"type": "text"}}}';
    const send = (fields: object) =>
      visitor.send(`${path}/versions/new`, { ...NEW_VERSION, input, ...fields });
    const refused = await send({ components: wrong });
    expect(refused.status).toBe(422);
    expect(issueOf(refused.html, "components")).toContain("schemas.Input.type: ");
    expect((await send({ components })).location).toBe(`${path}/versions/1`);
    const { html } = await visitor.look(`${path}/versions/new`);
    expect(html).toContain("#/components/schemas/Input");
    expect(html).toContain("How big");
  });

  it("a version's page shows whose runs share its container", async () => {
    const { visitor, path } = await owner();
    const said = async (page: string) =>
      /Container sharing ([A-Z][\w’ ]+?) (?:[A-Z]|Delete)/.exec(
        textOf((await new Visitor().look(path + page)).html),
      )?.[1];
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    await visitor.send(`${path}/versions/new`, { ...NEW_VERSION, isolation: "prediction" });
    expect(await said("/versions/1")).toBe("Shared by all accounts");
    expect(await said("/versions/2")).toBe("Separate for each prediction");
    expect(await said("/overview")).toBe("Separate for each prediction");
  });

  it("a private model's container is shared with no other account", async () => {
    const { client, visitor } = await newDashboardUser();
    const model = referenceOf(await newModel(client, { visibility: "private" }));
    await publish(client, model);
    for (const page of ["/versions/1", "/overview"]) {
      const text = textOf((await visitor.look(`/models/${model}${page}`)).html);
      expect(text).toContain("Container sharing Shared by the owner’s predictions");
    }
  });

  it("a version's page shows whom its container reaches", async () => {
    const { visitor, path } = await owner();
    const said = async (page: string) =>
      textOf((await new Visitor().look(path + page)).html).replace(/\s+/g, " ");
    const send = (more: object) =>
      visitor.send(`${path}/versions/new`, { ...NEW_VERSION, ...more });
    await send({});
    await send({ egress: "none" });
    await send({ egress: "hosts", egress_hosts: "huggingface.co\r\n*.hf.co" });
    expect(await said("/versions/1")).toContain("Network access Public internet");
    expect(await said("/versions/2")).toContain("Network access No network");
    expect(await said("/versions/3")).toContain("Network access huggingface.co, *.hf.co");
    expect(await said("/overview")).toContain("Network access huggingface.co, *.hf.co");
    const { html } = await visitor.look(`${path}/versions/new`);
    expect(html).toMatch(/value="hosts" checked=""/);
    expect(html).toContain("huggingface.co\n*.hf.co");
  });
});
