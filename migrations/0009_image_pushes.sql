ALTER TABLE `registry_manifests` ADD `pushed_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- The nearest that is known: what was needed for long was looked at since.
UPDATE `registry_manifests` SET `pushed_at` = `used_at`;--> statement-breakpoint
CREATE INDEX `registry_manifests_owner` ON `registry_manifests` (`user_id`,`pushed_at`,`model_id`,`digest`);
