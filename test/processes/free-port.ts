/** A TCP port of loopback that nothing listens on. */
import { FreePorts } from "../../runner/src/engines/process/process-engine.ts";

const ports = new FreePorts("127.0.0.1");

export const freePort = (): Promise<number> => ports.take();
