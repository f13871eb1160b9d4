/** Somebody who is signed in, with the model of somebody else to run, and a runner for it. */
import { env } from "cloudflare:workers";
import { newPerson, type Person } from "./people.ts";
import type { FakeRunner } from "./runner.ts";
import { newWorld } from "./world.ts";

export interface Customer extends Person {
  /** `owner/name`. */
  model: string;
  runner: () => Promise<FakeRunner>;
  /** Its owner gives it another name. */
  rename(name: string): Promise<void>;
  /** Its owner keeps it to themselves. */
  hide(): Promise<void>;
  /** Its owner deletes it. */
  remove(): Promise<void>;
  /** A prediction that waits. */
  waiting(request?: object): Promise<string>;
}

/** @param output the schema of what the model puts out */
export async function newCustomer(output: object = {}): Promise<Customer> {
  const [world, person] = await Promise.all([newWorld({ visibility: "public" }), newPerson()]);
  const { model, runner } = world;
  await env.DB.prepare("UPDATE versions SET schemas = ? WHERE repository LIKE ?")
    .bind(JSON.stringify({ prediction: { input: {}, output } }), `%/${model}`)
    .run();
  return {
    ...person,
    model,
    runner,
    async rename(name) {
      await world.client.ok("PATCH", `/v1/models/${model}`, { name });
    },
    async hide() {
      await world.client.ok("PATCH", `/v1/models/${model}`, { visibility: "private" });
    },
    async remove() {
      await world.client.ok("DELETE", `/v1/models/${model}`);
    },
    async waiting(request = {}) {
      return (await person.client.create({ model, input: {}, ...request })).body.id;
    },
  };
}

/** A run as client code is handed it. */
export const view = async ({ visitor }: Customer, id: string) =>
  (await visitor.look(`/predictions/${id}/view`)).html;

/** Of one that has put out these. @param output the schema of what the model puts out */
export async function viewOfOutputs(values: object[] | string[], output?: object): Promise<string> {
  const who = await newCustomer(output);
  const id = await who.waiting();
  const { channel } = await (await who.runner()).work();
  const events = values.map((data) => ({
    event: "output" as const,
    data: JSON.parse(JSON.stringify(data)),
  }));
  await channel.report(events, { status: "succeeded", output: "items" });
  return view(who, id);
}

/** What is in the element with an attribute, as text. */
export const textIn = (html: string, attribute: string) => {
  const [, inner = ""] =
    new RegExp(`<[^>]* ${attribute}[^>]*>(.*?)</(?:pre|section)>`, "s").exec(html) ?? [];
  return inner.replace(/<[^>]*>/g, "").replaceAll("&quot;", '"');
};
