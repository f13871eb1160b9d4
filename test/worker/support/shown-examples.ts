/** A public model whose runs become examples. */
import { newDashboardUser } from "./dashboard-users.ts";
import { newRunnable } from "./examples.ts";
import { Visitor } from "./visitor.ts";

export const SCHEMA = {
  type: "object",
  properties: {
    prompt: { type: "string" },
    key: { type: "string", format: "password" },
    // `api_key` has no format, as in the schema of a plain predict function.
    api_key: { type: "string" },
    picture: { type: "string", format: "uri" },
  },
};

export async function newShown(visibility: "public" | "private" = "public") {
  const person = await newDashboardUser();
  const made = await newRunnable(person, { visibility, schema: SCHEMA });
  const all = `${made.path}/examples`;
  const { visitor } = person;
  const pin = async (prediction_id: string) => {
    await visitor.look(made.path);
    return visitor.send(all, { prediction_id });
  };
  const read = async (by = new Visitor()) => (await by.look(all)).html;
  const ids = async () =>
    [...(await read(visitor)).matchAll(/\/([0-9a-f-]{36})\/unpin/g)].map(([, id = ""]) => id);
  return { ...person, ...made, all, pin, read, ids };
}
