/** A signed-in user who runs another user's model, with a runner for it. */
import { env } from "cloudflare:workers";
import { type DashboardUser, newDashboardUser } from "./dashboard-users.ts";
import type { FakeRunner } from "./runner.ts";
import { newWorld, type WorldOptions } from "./world.ts";

export interface Customer extends DashboardUser {
  /** `owner/name`. */
  model: string;
  runner: () => Promise<FakeRunner>;
  /** Renames the model, as its owner. */
  rename(name: string): Promise<void>;
  hide(): Promise<void>;
  remove(): Promise<void>;
  /** Creates a prediction, which waits for a runner. */
  waiting(request?: object): Promise<string>;
}

/** @param output the schema of the output */
export async function newCustomer(
  output: object = {},
  options: WorldOptions = {},
): Promise<Customer> {
  const [world, person] = await Promise.all([
    newWorld({ visibility: "public", ...options }),
    newDashboardUser(),
  ]);
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

/** Returns the view of a prediction that client code loads. */
export const view = async ({ visitor }: Customer, id: string) =>
  (await visitor.look(`/predictions/${id}/view`)).html;

/** Returns the view of a prediction with these outputs. @param output the schema of the output */
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

/** Returns the lines of the log, without their times. */
export const logLinesIn = (html: string) =>
  [...html.matchAll(/<span class="line"[^>]*>(.*?)<\/span><\/span>/gs)].map(([, inner = ""]) =>
    inner.replace(/<time.*?<\/time>|<[^>]*>/gs, ""),
  );
