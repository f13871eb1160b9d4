/** What services work with. */
import { type Bindings, type Settings, settings } from "../env.ts";
import { type Database, database } from "../storage/database.ts";

export interface Services {
  env: Bindings;
  db: Database;
  settings: Settings;
}

const made = new WeakMap<Bindings, Services>();

/** The services of a deployment, made once per isolate. */
export function servicesOf(env: Bindings): Services {
  let services = made.get(env);
  if (!services) {
    services = { env, db: database(env.DB), settings: settings(env) };
    made.set(env, services);
  }
  return services;
}
