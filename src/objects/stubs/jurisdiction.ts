/**
 * Jurisdiction in which the objects of this deployment run and store their data. An id tells its jurisdiction
 * and works in the namespace as it is bound, whatever the setting is by now. A name is another object in each
 * jurisdiction.
 */
import { type Bindings, settings } from "../../env.ts";

/** The namespace for new ids and for names: that of the deployment's jurisdiction, if it has one. */
export function inJurisdiction<Class extends Rpc.DurableObjectBranded | undefined>(
  env: Bindings,
  namespace: DurableObjectNamespace<Class>,
): DurableObjectNamespace<Class> {
  const { jurisdiction } = settings(env);
  return jurisdiction ? namespace.jurisdiction(jurisdiction) : namespace;
}
