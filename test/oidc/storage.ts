/**
 * The storage of the provider, which outlives a change of its keys: the provider is made anew for one, and its own
 * storage would forget the logins that are under way in other test files.
 */
import type { Adapter, AdapterPayload } from "oidc-provider";

export class Storage {
  readonly #rows = new Map<string, AdapterPayload>();

  of(model: string): Adapter {
    const rows = this.#rows;
    const find = (is: (payload: AdapterPayload) => boolean) =>
      [...rows].find(([key, payload]) => key.startsWith(`${model}:`) && is(payload))?.[1];
    return {
      upsert: async (id, payload) => void rows.set(`${model}:${id}`, payload),
      find: async (id) => rows.get(`${model}:${id}`),
      findByUid: async (uid) => find((payload) => payload.uid === uid),
      findByUserCode: async (code) => find((payload) => payload.userCode === code),
      consume: async (id) => {
        const payload = rows.get(`${model}:${id}`);
        if (payload) payload.consumed = Math.floor(Date.now() / 1_000);
      },
      destroy: async (id) => void rows.delete(`${model}:${id}`),
      revokeByGrantId: async (grantId) => {
        for (const [key, payload] of rows) if (payload.grantId === grantId) rows.delete(key);
      },
    };
  }
}
