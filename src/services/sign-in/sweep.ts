/** What nobody can sign in with any more. */
import { deleteExpired } from "../../storage/sign-in.ts";
import type { Services } from "../services.ts";

export async function sweepSessions({ db }: Services, now: number): Promise<void> {
  await deleteExpired(db, new Date(now));
}
