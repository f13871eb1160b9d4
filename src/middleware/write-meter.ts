/** Charges an account with what a request writes, and lets it write with services that count that. */
import type { WriteCost } from "../domain/accounts/write-bucket.ts";
import { withinWriteLimit } from "../services/accounts/write-limit.ts";
import type { Services } from "../services/services.ts";

/** The part of a request context that the API and the dashboard share. */
interface MeteredContext {
  var: { services: Services };
  set(name: "services", services: Services): void;
}

/** @param cost the most that the request writes @throws ProblemError too_many_requests */
export const meterWrites = (
  c: MeteredContext,
  userId: string,
  cost: WriteCost,
  next: () => Promise<void>,
): Promise<void> =>
  withinWriteLimit(c.var.services, userId, cost, async (services) => {
    c.set("services", services);
    await next();
  });

/** How many bytes the request's body has, if it says so: what is longer is charged as it arrives. */
export const lengthOf = (header: string | undefined): number => Number(header ?? 0) || 0;
