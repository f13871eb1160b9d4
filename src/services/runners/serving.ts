/** Whether somebody would run a model. */
import { runnerIsThere } from "../../storage/runners/runners.ts";
import type { Services } from "../services.ts";

/** Whether a runner of this class has ever registered, and may still connect. @param hardware undefined: of any class */
export const isServed = ({ db }: Services, hardware: string | undefined): Promise<boolean> =>
  runnerIsThere(db, hardware);
