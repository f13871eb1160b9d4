/** Whether a person sits at a terminal and can be asked. */
export const isInteractive = (): boolean => process.stdin.isTTY && process.stderr.isTTY;
