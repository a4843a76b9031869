"""denoising-diffusion-pytorch's Trainer: Accelerate, an endless cycle over the loader, EMA, checkpoints and samples."""
import small_data
import witness


def main():
    import torch
    from denoising_diffusion_pytorch import GaussianDiffusion, Trainer, Unet

    witness.seed(3)
    model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
    diffusion = GaussianDiffusion(model, image_size=32, timesteps=10, sampling_timesteps=2)
    real = diffusion.forward

    def forward(images, *args, **kwargs):
        witness.batch(images)
        return real(images, *args, **kwargs)

    diffusion.forward = forward
    trainer = Trainer(diffusion, "data", train_batch_size=8, train_lr=1e-4, train_num_steps=60 * small_data.SCALE,
                      gradient_accumulate_every=2, ema_decay=0.9, save_and_sample_every=20, num_samples=4,
                      calculate_fid=False, results_folder="results")
    trainer.train()
    witness.weights(model)


if __name__ == "__main__":
    main()
