/** Who is an operator: whoever has proved, once, to hold OPERATOR_TOKEN. */
import { setOperator } from "../../storage/sign-in.ts";
import type { Services } from "../services.ts";
import { authenticateOperator } from "../tokens.ts";

/** @throws ProblemError unauthenticated */
export async function proveOperator(
  services: Services,
  userId: string,
  operatorToken: string,
): Promise<void> {
  authenticateOperator(services, operatorToken);
  await setOperator(services.db, userId);
}
