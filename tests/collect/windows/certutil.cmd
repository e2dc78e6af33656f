@echo off
>> calls.log echo %~n0 %*
echo SHA256 hash of file %~2:
echo 1a 2b 3c 4d 5e 6f 70 81 92 a3 b4 c5 d6 e7 f8 09 1a 2b 3c 4d 5e 6f 70 81 92 a3 b4 c5 d6 e7 f8 09
echo CertUtil: -hashfile command completed successfully.
