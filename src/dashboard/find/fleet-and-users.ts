/** What operators find by name: runners and users. */
import { searchUserRows } from "../../services/models/search.ts";
import { findRunnersNamed } from "../../storage/runners/runners.ts";
import type { PageContext } from "../context.ts";
import type { Group } from "./group.ts";

const MAX_RUNNERS = 5;
const MAX_USERS = 5;

export async function runners({ var: { services } }: PageContext, query: string): Promise<Group> {
  const found = await findRunnersNamed(services.db, query, MAX_RUNNERS);
  return {
    name: "Runners",
    items: found.map(({ id, name, hardware, revoked_at }) => ({
      address: `/fleet/runners/${id}`,
      name,
      hint: `${hardware.join(", ")}${revoked_at === null ? "" : ", token revoked"}`,
    })),
  };
}

export async function users(c: PageContext, query: string): Promise<Group> {
  const request = { cursor: undefined, size: MAX_USERS, url: c.req.url };
  const { items } = await searchUserRows(c.var.services, query, request, (row) => row);
  return {
    name: "Users",
    items: items.map(({ username, name }) => ({
      address: `/users/${username}`,
      name: username,
      hint: name,
    })),
  };
}
