/** The dependencies of services. */
import { type Bindings, type Settings, settings } from "../env.ts";
import { type Database, database } from "../storage/database.ts";
import { type Presenters, presenters } from "./presenters.ts";

export interface Services {
  env: Bindings;
  db: Database;
  settings: Settings;
  present: Presenters;
}

const made = new WeakMap<Bindings, Services>();

/** Created once per isolate. */
export function getServices(env: Bindings): Services {
  let services = made.get(env);
  if (!services) {
    const parsed = settings(env);
    const present = presenters(parsed);
    services = { env, db: database(env.DB), settings: parsed, present };
    made.set(env, services);
  }
  return services;
}
