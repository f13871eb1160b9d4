DROP INDEX `runner_tokens_untold`;--> statement-breakpoint
CREATE INDEX `runner_tokens_revoked` ON `runner_tokens` (`revoked_at`) WHERE revoked_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `runner_tokens` DROP COLUMN `told_at`;